"""Sentences: after which ".", "?" or "!" one ends.

Written for this pack, on the plan of Punkt (Kiss and Strunk 2006, section 4), which the
reference verifier uses: a mark ends a sentence unless its token is an abbreviation, an
ellipsis, an initial or an ordinal whose next word does not look like a beginning. Punkt
learns its word lists from a corpus; here they are short lists in ``abbreviations``. English
only, like the reference: a danda or an ideographic full stop ends nothing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from cascade_rl_ifeval.tokenise.abbreviations import (
    ABBREVIATIONS,
    ENUMERATORS,
    OPENERS,
    SMALL_WORDS,
)

# Signs that may stand directly after a mark; they end a word too.
_SIGN = r"[)\";}\]*:@'({\[!?]"
_LONG_MARK = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"

_CANDIDATE = re.compile(rf"[.?!](?=(?P<sign>{_SIGN})|\s+(?P<next>\S+))")
_TOKEN = re.compile(
    rf"{_LONG_MARK}"
    r"|[^\s(\"`{\[:;&#*@)}\]\-,]\S*?"
    rf"(?=\s|\Z|{_SIGN}|{_LONG_MARK}|,(?:\Z|\s|{_SIGN}|{_LONG_MARK}))"
    r"|\S"
)
_CLOSING = re.compile(r"[\"')\]}]+?(?:\s+|(?=--)|\Z)")
_INITIAL = re.compile(r"[^\W\d]\.\Z")
_ORDINAL = re.compile(r"(?:[^\W\d]|-?[.,]?\d[\d,.-]*)\.\Z")
_ELLIPSIS = re.compile(r"\.\.+\Z")


def count_sentences(text: str) -> int:
    """The number of sentences; 0 for blank text."""
    return len(split_sentences(text))


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order, without the blanks between them."""
    pieces = _close_quotes(_pieces(text.rstrip()))
    return [piece for piece in pieces if piece]


def _pieces(text: str) -> list[str]:
    pieces, start = [], 0
    for run_start, match in _candidates(text):
        # What decides is the run up to the mark and the sign or word that follows.
        context = text[run_start : match.end()] + (match["sign"] or f" {match['next']}")
        if _ends_inside(context):
            pieces.append(text[start : match.end()])
            start = match.end() if match["next"] is None else match.start("next")
    return [*pieces, text[start:]]


def _candidates(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """The last mark of each run of non-blanks, with where the run begins.

    A mark that a run begins with counts by itself, as in the reference.
    """
    run_start, last = 0, None
    for match in _CANDIDATE.finditer(text):
        blank = _last_blank(text, last.start() if last else 0, match.start())
        if last and (blank >= 0 or last.start() == run_start):
            yield run_start, last
        run_start, last = (run_start if blank < 0 else blank + 1), match
    if last:
        yield run_start, last


def _last_blank(text: str, start: int, stop: int) -> int:
    for index in range(stop - 1, start - 1, -1):
        if text[index].isspace():
            return index
    return -1


def _ends_inside(context: str) -> bool:
    """Whether any token but the last ends a sentence."""
    tokens = _TOKEN.findall(context)
    return any(_is_end(token, after) for token, after in itertools.pairwise(tokens))


def _is_end(token: str, after: str) -> bool:
    if token in {".", "?", "!"}:
        return True
    if _ELLIPSIS.match(token):
        return _opens(after)
    if not token.endswith(".") or token.endswith(".."):
        return False
    stem = token[:-1].lower()
    if stem in ABBREVIATIONS or stem.rpartition("-")[2] in ABBREVIATIONS:
        return len(stem) > 1 and _opens(after)
    if _INITIAL.match(token) and after[0].isupper():
        return token[0].islower() or stem in ENUMERATORS or _word(after) in SMALL_WORDS
    return not (_ORDINAL.match(token) and after[0].islower())


def _opens(after: str) -> bool:
    """Whether a token is a capitalised word that is otherwise written small."""
    return after[0].isupper() and _word(after) in OPENERS


def _word(token: str) -> str:
    return token.lower().rstrip(".")


def _close_quotes(pieces: list[str]) -> list[str]:
    """Move closing quotes and brackets from the start of a piece to the piece before."""
    closed = pieces[:1]
    for piece in pieces[1:]:
        match = _CLOSING.match(piece)
        if match:
            closed[-1] += match.group().rstrip()
            piece = piece[match.end() :]
        closed.append(piece)
    return closed
