"""Thoughts in another language: the code-switching penalty of the recipe (arXiv 2512.13607).

The detector is ``py3langid`` (extra ``language``). Formulas, code and LaTeX commands are
removed first, the rest is judged in windows of ``min_letters`` letters, and a window counts
only where the detector is sure, so that short thoughts and stray words are never punished.
"""

from __future__ import annotations

import importlib.util
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

#: Confidence from which a window counts; no English window of 80 letters of MATH and GSM8K
#: solutions (1,347 of them) reaches it for another language.
SURE = 0.8
#: A character of these scripts says as much as several letters of an alphabet.
_DENSE_FROM = 0x2E80
_DENSE_LETTERS = 3

_FORMULA = re.compile(
    r"\$\$.*?\$\$|\\\[.*?\\\]|\\\(.*?\\\)|\$[^$]*\$|\\begin\{(\w+\*?)\}.*?\\end\{\1\}"
    r"|```.*?```|`[^`]*`",
    re.DOTALL,
)
_COMMAND = re.compile(r"\\[a-zA-Z]+(?:\{[^{}]*\})?")
_NO_LETTER = re.compile(r"[\d\W_]+(?<![.,;:!?'’。，])|(?<!\w)[a-zA-Z](?!\w)")
_LONGEST = 200_000


def is_installed() -> bool:
    """Whether the detector can be imported."""
    return importlib.util.find_spec("py3langid") is not None


def other_language(thoughts: str, expected: str, min_letters: int) -> str | None:
    """The code of another language that a part of the thoughts is surely in, or None."""
    identifier = _identifier()
    for window in _windows(_prose(thoughts[:_LONGEST]), min_letters):
        language, confidence = identifier.classify(window)
        if language != expected and confidence >= SURE:
            return str(language)
    return None


def _prose(text: str) -> str:
    text = _COMMAND.sub(" ", _FORMULA.sub(" ", text))
    return " ".join(_NO_LETTER.sub(" ", text).split())


def _windows(text: str, min_letters: int) -> Iterator[str]:
    """Pieces of so many letters; what is left over at the end is too short to judge."""
    words: list[str] = []
    letters = 0
    for word in text.split():
        words.append(word)
        letters += sum(map(_weight, word))
        if letters >= min_letters:
            yield " ".join(words)
            words, letters = [], 0


def _weight(symbol: str) -> int:
    if unicodedata.category(symbol)[0] not in "LM":
        return 0
    return _DENSE_LETTERS if ord(symbol) >= _DENSE_FROM else 1


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import (  # type: ignore[import-untyped]  # ships no types
        MODEL_FILE,
        LanguageIdentifier,
    )

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
