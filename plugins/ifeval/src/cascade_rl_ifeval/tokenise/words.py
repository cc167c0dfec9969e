"""Words: counted as runs of word characters, and split as treebank tokens for capitals."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")


def count_words(text: str) -> int:
    """Runs of letters, digits and underscores: "isn't" is two."""
    return len(_WORD.findall(text))


def count_capital_words(text: str) -> int:
    """Tokens all in capitals."""
    return sum(1 for word in text.split() if word.isupper())
