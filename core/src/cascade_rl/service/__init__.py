"""The HTTP reward service (extra ``cascade-rl[serve]``): native routes, and those of peers.

``settings`` and ``programs`` import nothing of the extra; everything else needs it. Start it
with ``cascade serve``, or build the ASGI application with ``cascade_rl.service.app.create_app``.
"""
