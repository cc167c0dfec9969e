"""Sentences."""

from __future__ import annotations

import re


def count_sentences(text: str) -> int:
    """How many sentences."""
    return len(re.split(r"[.?!]\s+", text.strip()))
