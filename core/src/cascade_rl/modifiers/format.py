"""``format``: which share of the asked-for marks a completion has, 0 to 1.

``{modifier: format, weight: 0.2, options: {tags: [answer], contains: ["\\\\boxed{"]}}``. Without
options it asks for what the prompt's mode means: closed thoughts in think mode, none otherwise.
Only plain text is looked for: a regular expression could hang the trainer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from cascade_rl.hooks import hookimpl
from cascade_rl.types import END_OF_THOUGHTS, START_OF_THOUGHTS, Completion, Prompt, Reward


class Options(BaseModel):
    """What a completion must have; each mark counts the same."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    thoughts: Literal["by_mode", "closed", "none", "any"] = Field(
        default="by_mode",
        description="closed: one </think>; none: no thoughts, or empty ones; by_mode: closed in "
        "think mode, none in no_think mode, any otherwise.",
    )
    tags: tuple[str, ...] = Field(
        default=(), description="Each as <tag>…</tag>, exactly once, in this order, in the answer."
    )
    contains: tuple[str, ...] = Field(default=(), description="Texts that the answer contains.")


_BY_MODE = {"think": "closed", "no_think": "none", "none": "any"}


@hookimpl
def modify(prompt: Prompt, completion: Completion, options: Options) -> Reward:
    """Marks that are there / marks that are asked for; 1 where none is asked for."""
    marks = list(_marks(prompt, completion, options))
    missing = [name for name, there in marks if not there]
    score = 1 - len(missing) / len(marks) if marks else 1.0
    return Reward(score=score, reason=f"missing: {', '.join(missing)}" if missing else "all there")


def _marks(prompt: Prompt, completion: Completion, options: Options) -> Iterator[tuple[str, bool]]:
    thoughts = _BY_MODE[prompt.mode] if options.thoughts == "by_mode" else options.thoughts
    if thoughts == "closed":
        yield "closed thoughts", completion.text.count(END_OF_THOUGHTS) == 1
    if thoughts == "none":
        yield "no thoughts", not completion.thoughts and not _left_open(completion.text)
    place = 0
    for tag in options.tags:
        found = _tag(completion.answer, tag)
        yield f"<{tag}>", found >= place
        place = max(place, found)
    for text in options.contains:
        yield repr(text), text in completion.answer


def _left_open(text: str) -> bool:
    return START_OF_THOUGHTS in text and END_OF_THOUGHTS not in text


def _tag(text: str, tag: str) -> int:
    """Where the one pair of the tag begins; -1 where there is none, or more than one."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    start, end = text.find(opening), text.find(closing)
    once = text.count(opening) == 1 == text.count(closing)
    return start if once and start < end else -1
