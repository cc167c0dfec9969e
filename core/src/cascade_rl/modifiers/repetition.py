"""``repetition``: the share of a completion's word groups that were there before, 0 to 1.

Give it a negative weight: ``{modifier: repetition, weight: -1, options: {n: 3}}``. A text that
never repeats ``n`` words in a row gets 0, one that says the same over and over nears 1.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from cascade_rl.hooks import hookimpl
from cascade_rl.types import Completion, Reward


class Options(BaseModel):
    """How long a repeated piece must be to count."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    n: int = Field(default=4, ge=1, le=20, description="Units in a row that count as a piece.")
    unit: Literal["words", "characters"] = "words"
    part: Literal["answer", "all"] = Field(
        default="all", description="Measure everything, or the text after the thoughts."
    )


@hookimpl
def modify(completion: Completion, options: Options) -> Reward:
    """1 - (different pieces of n units / pieces of n units); 0 where there are none."""
    text = completion.answer if options.part == "answer" else completion.text
    units = text.split() if options.unit == "words" else text
    pieces = len(units) - options.n + 1
    if pieces < 1:
        return Reward(score=0.0, reason=f"shorter than {options.n} {options.unit}")
    different = len({_key(units[i : i + options.n]) for i in range(pieces)})
    reason = f"{pieces - different} of {pieces} pieces of {options.n} {options.unit} repeat"
    return Reward(score=1 - different / pieces, reason=reason)


def _key(piece: str | list[str]) -> str:
    return piece if isinstance(piece, str) else " ".join(piece)
