"""Where the answer is: the content of the last ``\\boxed{...}`` of a reply.

Not here: what the answer means. Braces are balanced by counting, in one pass, so that a
hostile reply costs no more than its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cascade_rl.types import Completion, Prompt

_BOX = re.compile(r"\\f?box(?:ed)?\s*\{")


@dataclass(frozen=True)
class Extraction:
    """The box's content, or why there is none."""

    answer: str | None
    reason: str = ""


def extract(prompt: Prompt, completion: Completion) -> Extraction:
    """The answer that a completion commits to.

    In think mode a completion that never closes its thoughts has no answer, whatever boxes
    it holds: the thoughts are not the reply.
    """
    if prompt.mode == "think" and completion.thoughts is None:
        return Extraction(None, "no answer: thoughts were never closed")
    return last_box(completion.answer)


def last_box(text: str) -> Extraction:
    """The content of the last ``\\boxed{...}`` or ``\\fbox{...}`` that opens in ``text``."""
    start = None
    for match in _BOX.finditer(text):
        start = match.end()
    if start is None:
        return Extraction(None, "no answer: no \\boxed{...} in the reply")
    end = _closing_brace(text, start)
    if end is None:
        return Extraction(None, "no answer: the last \\boxed{ is never closed")
    content = text[start:end].strip()
    if not content:
        return Extraction(None, "no answer: the last \\boxed{} is empty")
    return Extraction(content)


def _closing_brace(text: str, start: int) -> int | None:
    depth = 1
    position = start
    while position < len(text):
        symbol = text[position]
        if symbol == "\\":  # an escaped brace is text
            position += 2
            continue
        depth += {"{": 1, "}": -1}.get(symbol, 0)
        if depth == 0:
            return position
        position += 1
    return None
