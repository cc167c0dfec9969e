"""A pack that passes every check. Each broken one beside it changes one thing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from cascade_rl import (
    Completion,
    Demonstration,
    Example,
    LengthBudget,
    Prompt,
    Reward,
    SamplingParams,
    hookimpl,
)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    largest: int = Field(default=8, ge=2)


@hookimpl
def load_prompts(options: Options) -> Iterable[Prompt]:
    numbers = range(1, options.largest + 1)
    return [question(a, b) for a in numbers for b in numbers]


@hookimpl
def load_demonstrations(options: Options) -> Iterable[Demonstration]:
    for prompt in load_prompts(options):
        yield Demonstration(**prompt.model_dump(), completion=gold_completion(prompt))


@hookimpl
def reward(prompt: Prompt, completion: Completion) -> Reward:
    return judge(prompt, completion.answer)


@hookimpl
def length_budget() -> LengthBudget:
    return LengthBudget(prompt_tokens=32, completion_tokens=16)


@hookimpl
def sampling_params() -> SamplingParams:
    return SamplingParams(n=4)


@hookimpl
def gold_completion(prompt: Prompt) -> str:
    return f"Answer: {prompt.ground_truth}"


@hookimpl
def reward_group(rewards: list[Reward]) -> list[Reward]:
    return list(rewards)


@hookimpl
def examples() -> Iterable[Example]:
    return [
        example("right", "right", "Answer: -5", 1.0),
        example("other-sign", "wrong", "Answer: 5", 0.0),
        example("no-format", "wrong", "-5", 0.0),
        example("two-answers", "hostile", "Answer: 5 or -5", 0.0),
    ]


def question(a: int, b: int) -> Prompt:
    return Prompt.from_text(f"difference-{a}-{b}", f"What is {a} - {b}?", ground_truth=a - b)


def judge(prompt: Prompt, text: str) -> Reward:
    found = re.fullmatch(r"Answer: (-?\d{1,9})", text.strip())
    if found is None:
        return Reward.verdict(False, "no line 'Answer: N'")
    return Reward.verdict(int(found[1]) == prompt.ground_truth, f"read {found[1]}")


def example(name: str, kind: str, text: str, expected: float) -> Example:
    prompt, completion = question(3, 8), Completion(text=text)
    return Example(name=name, kind=kind, prompt=prompt, completion=completion, expected=expected)
