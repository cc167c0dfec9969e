"""``length``: how far a completion's length lies outside the wanted range, 0 to 1.

Give it a negative weight: ``{modifier: length, weight: -0.5, options: {low: 8}}`` takes away
up to half a point from answers shorter than eight words. Without options it grows with every
word, so that a negative weight rewards brevity.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from cascade_rl.hooks import hookimpl
from cascade_rl.types import Completion, Reward


class Options(BaseModel):
    """The wanted range, and over which distance outside of it the score grows to 1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unit: Literal["words", "characters", "tokens"] = "words"
    low: int = Field(default=0, ge=0)
    high: int | None = Field(default=None, ge=0, description="Default: `low`.")
    scale: PositiveInt = 100
    part: Literal["answer", "all"] = Field(
        default="answer", description="Measure the text after the thoughts, or everything."
    )


@hookimpl
def modify(completion: Completion, options: Options) -> Reward:
    """min(1, distance to [low, high] / scale)."""
    length = _length(completion, options)
    if length is None:
        return Reward.unscored("error", "the completion's length in tokens is not known")
    high = options.low if options.high is None else options.high
    distance = max(options.low - length, length - high, 0)
    return Reward(score=min(1.0, distance / options.scale), reason=f"{length} {options.unit}")


def _length(completion: Completion, options: Options) -> int | None:
    if options.unit == "tokens":
        return completion.tokens
    text = completion.answer if options.part == "answer" else completion.text
    return len(text.split()) if options.unit == "words" else len(text)
