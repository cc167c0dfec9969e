"""Multiple choice: the one letter that a gold or an answer names.

``B``, ``(B)``, ``B.``, ``\\textbf{(B)}\\ 12``, ``Option B``. A gold that is one capital letter
is taken for a choice; an answer that names two letters names none.
"""

from __future__ import annotations

import re

_COMMANDS = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|boxed)(?![a-zA-Z])")
_NAMED = r"(?:(?:the\s+)?(?:correct\s+)?(?:final\s+)?(?:option|choice|answer)(?:\s+is)?\s*:?\s*)?"
_BARE = re.compile(rf"{_NAMED}(?:\((?P<a>[A-J])\)|(?P<b>[A-J]))[.):]?", re.IGNORECASE)
_WITH_TEXT = re.compile(
    rf"{_NAMED}(?:\((?P<a>[A-J])\)[.:]?|(?P<b>[A-J])[.):])\s+(?P<rest>\S.*)", re.IGNORECASE
)
_OTHER_LETTER = re.compile(r"\([A-J]\)|\b[A-J][.):](?:\s|$)|\b(?:or|and)\s+\(?[A-J]\b")
_LETTERS = re.compile(r"[A-J](?:\s*(?:,|and|or|;)?\s*[A-J])*", re.IGNORECASE)


def letter(text: str, any_case: bool = False) -> str | None:
    """The letter that a text names, as a capital, or None. Small letters count in brackets
    only where ``any_case`` says so."""
    plain = _plain(text)
    found = _BARE.fullmatch(plain) or _WITH_TEXT.fullmatch(plain)
    if found is None:
        return None
    named = str(found["a"] or found["b"])
    if not (named.isupper() or any_case) or _OTHER_LETTER.search(plain, found.end(_group(found))):
        return None
    return named.upper()


def letters(text: str) -> frozenset[str]:
    """All letters of an answer that is nothing but letters: "C, D" and "CD"."""
    plain = _plain(text)
    if not _LETTERS.fullmatch(plain):
        return frozenset()
    return frozenset(re.sub(r"and|or|[^a-zA-Z]", "", plain).upper())


def _group(found: re.Match[str]) -> str:
    return "a" if found["a"] else "b"


def _plain(text: str) -> str:
    text = _COMMANDS.sub(" ", text[:300])
    text = re.sub(r"\\[ ,;!()\[\]]|\\q?quad|[${}~*]", " ", text)
    return " ".join(text.split()).strip(".,; ") if "\\" not in text else ""
