"""punctuation:* - signs that must not occur."""

from __future__ import annotations

from cascade_rl_ifeval.instructions.base import Instruction, NoArguments


def no_comma(response: str, arguments: NoArguments) -> str | None:  # noqa: ARG001 - one shape for all checks
    """No ASCII comma occurs (commas of other scripts are other signs)."""
    count = response.count(",")
    return f"{count} commas" if count else None


INSTRUCTIONS = (Instruction("punctuation:no_comma", NoArguments, no_comma),)
