"""Where the answer is: the content of the last ``\\boxed{...}`` of a reply.

Not here: what the answer means. Braces are balanced by counting, in one pass, so that a
hostile reply costs no more than its length. Replies without a box are ``prose``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
#: What may stand between two boxes that are one answer: nothing, a comma, "and", a bare "or".
_FILLING = r"(?:[ $.]|\\[,;()\[\]]|\\quad|\\qquad)*"
_WORD = r"(?:\\text\s*\{\s*(?:and|or)\s*\}|\band\b|\bor\b)"
_JOINT = re.compile(rf"{_FILLING}(?:(?P<sep>[,;]\s*{_WORD}?|{_WORD})\n?{_FILLING})?")
_LONGEST_JOINT = 60
_MOST_BOXES = 32


@dataclass(frozen=True)
class Extraction:
    """The answer, or why there is none."""

    answer: str | None
    reason: str = ""


NO_BOX = Extraction(None, "no answer: no \\boxed{...} in the reply")


def last_box(text: str) -> Extraction:
    """The content of the last ``\\boxed{...}`` or ``\\fbox{...}`` that opens in ``text``.

    Boxes joined by nothing but a comma, "and" or "or" are one answer, a list: two boxes side
    by side name two candidates, and none of them is *the* answer.
    """
    starts = [(found.start(), found.end()) for found in _BOX.finditer(text)]
    if not starts:
        return NO_BOX
    start = starts[-1][1]
    end = _closing_brace(text, start, len(text))
    if end is None:
        end = _escaped_closing(text, start)
    if end is None:
        return Extraction(None, "no answer: the last \\boxed{ is never closed")
    content = text[start:end].strip()
    if not content:
        return Extraction(None, "no answer: the last \\boxed{} is empty")
    return Extraction(_joined(text, starts, content))


def unclosed_box(text: str) -> str | None:
    """What follows a last box that never closes: for golds, which people cut short."""
    starts = [found.end() for found in _BOX.finditer(text)]
    if not starts or _closing_brace(text, starts[-1], len(text)) is not None:
        return None
    return text[starts[-1] :].strip() or None


def _joined(text: str, starts: list[tuple[int, int]], content: str) -> str:
    parts = [content]
    for (_, inside), (following, _) in zip(starts[-2::-1], starts[:0:-1], strict=True):
        end = _closing_brace(text, inside, following)
        if end is None or following - end > _LONGEST_JOINT or len(parts) == _MOST_BOXES:
            break
        joint = _JOINT.fullmatch(text, end + 1, following)
        if joint is None:
            break
        before = text[inside:end].strip()
        if before and before not in parts:
            parts[:0] = [before, " \\text{ or } " if "or" in (joint["sep"] or "") else ", "]
    return "".join(parts)


def _closing_brace(text: str, start: int, stop: int) -> int | None:
    depth = 1
    position = start
    while position < stop:
        symbol = text[position]
        if symbol == "\\":  # an escaped brace is text
            position += 2
            continue
        depth += {"{": 1, "}": -1}.get(symbol, 0)
        if depth == 0:
            return position
        position += 1
    return None


def _escaped_closing(text: str, start: int) -> int | None:
    """``\\boxed{185\\}``: no brace closes the box but one, at its very end, that a stray
    backslash escapes."""
    tail = text[start:]
    if "\\}" not in tail or "\\{" in tail or "\\lbrace" in tail:
        return None
    end = tail.index("\\}")
    return start + end if tail.count("{", 0, end) == tail.count("}", 0, end) else None
