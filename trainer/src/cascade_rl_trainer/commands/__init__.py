"""Verbs that the trainer adds to ``cascade``. Importing them imports no torch."""
