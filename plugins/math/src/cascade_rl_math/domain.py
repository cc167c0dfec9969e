"""The hooks of the domain: each a few lines that hand on to the module that does the work."""

from __future__ import annotations

from collections.abc import Iterable

from cascade_rl.hooks import hookimpl
from cascade_rl.types import (
    Completion,
    Demonstration,
    LengthBudget,
    Mode,
    Prompt,
    Reward,
    SamplingParams,
    Split,
    Stage,
)
from cascade_rl_math.builtin import demonstrate_sums, load_sums
from cascade_rl_math.extract import extract
from cascade_rl_math.options import Options


@hookimpl
def load_prompts(split: Split, options: Options) -> Iterable[Prompt]:
    """The problems of a split, without their solutions."""
    return load_sums(split, options)


@hookimpl
def load_demonstrations(split: Split, options: Options) -> Iterable[Demonstration]:
    """The same problems with a solution to imitate."""
    return demonstrate_sums(split, options)


@hookimpl
def reward(prompt: Prompt, completion: Completion) -> Reward:
    """1 when the last box equals the gold, else 0."""
    found = extract(prompt, completion)
    if found.answer is None:
        return Reward.verdict(False, found.reason)
    return Reward.verdict(found.answer == prompt.ground_truth, "text", extracted=found.answer[:200])


@hookimpl
def length_budget(stage: Stage, options: Options) -> LengthBudget:
    """Characters of a builtin sum, or the tokens of the paper's first maths stage."""
    return LengthBudget(prompt_tokens=32, completion_tokens=96, overlong="mask")


@hookimpl
def sampling_params(stage: Stage, mode: Mode, options: Options) -> SamplingParams:
    """Temperature 1, groups of 8."""
    return SamplingParams(temperature=1.0, n=8)


@hookimpl
def gold_completion(prompt: Prompt) -> str | None:
    """The shortest right reply."""
    thoughts = "<think></think>" if prompt.mode == "think" else ""
    return f"{thoughts}\\boxed{{{prompt.ground_truth}}}"
