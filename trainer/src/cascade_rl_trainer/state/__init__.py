"""What a run leaves on disk, and how it survives being killed at any moment.

``files`` writes atomically, ``log`` appends and cuts back, ``checkpoint`` holds a stage that
is under way, ``progress`` is the run's record, ``fingerprint`` says whether a run may be
resumed, ``lock`` keeps a second process out. Nothing here trains or evaluates.
"""
