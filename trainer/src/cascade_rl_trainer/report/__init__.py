"""What a run has done, for people: the forgetting matrix, the gates, and an HTML page.

Everything here reads values and returns text. Nothing imports torch, samples or scores.
"""
