"""The 25 official instructions: one table from id to ``Instruction``, filled at import."""

from __future__ import annotations

from cascade_rl_ifeval.instructions import (
    case,
    combination,
    content,
    formats,
    keywords,
    language,
    length,
    punctuation,
    startend,
)
from cascade_rl_ifeval.instructions.base import Arguments, Instruction

_FAMILIES = (
    keywords,
    language,
    length,
    content,
    formats,
    combination,
    startend,
    case,
    punctuation,
)

INSTRUCTIONS: dict[str, Instruction] = {
    instruction.id: instruction for family in _FAMILIES for instruction in family.INSTRUCTIONS
}

__all__ = ["INSTRUCTIONS", "Arguments", "Instruction"]
