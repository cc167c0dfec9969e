"""The hooks of the domain: each a few lines that hand on to the module that does the work."""

from __future__ import annotations

from collections.abc import Iterable

from cascade_rl.hooks import hookimpl
from cascade_rl.types import (
    Completion,
    Demonstration,
    Example,
    LengthBudget,
    Prompt,
    Reward,
    SamplingParams,
    Split,
)
from cascade_rl_code import workplace
from cascade_rl_code.loading import demonstrate, load
from cascade_rl_code.options import Options
from cascade_rl_code.order import FailureOrder
from cascade_rl_code.prompts import gold
from cascade_rl_code.scoring import score

_failures = FailureOrder()


@hookimpl
def load_prompts(split: Split, options: Options) -> Iterable[Prompt]:
    """The problems of a split, with their tests."""
    return load(split, options)[0]


@hookimpl
def load_demonstrations(split: Split, options: Options) -> Iterable[Demonstration]:
    """The problems that have a reference solution, with that solution to imitate."""
    return demonstrate(split, options)


@hookimpl
def reward(prompt: Prompt, completion: Completion, options: Options) -> Reward:
    """1 where the program passes every test, else 0 (the paper's section on Code RL)."""
    return score(prompt, completion, options, workplace.sandbox(options), _failures)


@hookimpl
def length_budget(options: Options) -> LengthBudget:
    """2,048 + 44K tokens, no overlong filtering: a truncated reply is 0 (appendix D)."""
    tokens = 2048 if options.source == "builtin" else 44 * 1024
    return LengthBudget(prompt_tokens=2048, completion_tokens=tokens, overlong="zero")


@hookimpl
def sampling_params() -> SamplingParams:
    """Temperature 1, top-p 0.95, groups of 8 (appendix D)."""
    return SamplingParams(temperature=1.0, top_p=0.95, n=8)


@hookimpl
def gold_completion(prompt: Prompt) -> str | None:
    """The reference solution in a code block; None for problems without one."""
    return gold(prompt)


@hookimpl
def examples() -> Iterable[Example]:
    """Right, wrong and hostile completions."""
    from cascade_rl_code.example_set import EXAMPLES

    return EXAMPLES


@hookimpl
def open(options: Options) -> None:  # noqa: A001 - the hook's name
    """Open the sandbox before the first reward."""
    workplace.sandbox(options)


@hookimpl
def close() -> None:
    """End the sandbox and everything in it."""
    workplace.close()
