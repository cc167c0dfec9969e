"""The hooks of the domain: thin, each calls the file that does the work."""

from __future__ import annotations

from collections.abc import Iterable

from cascade_rl.hooks import hookimpl
from cascade_rl.types import (
    Completion,
    Demonstration,
    LengthBudget,
    Prompt,
    Reward,
    SamplingParams,
    Split,
)

from cascade_rl_ifeval.options import Options


@hookimpl
def load_prompts(split: Split, options: Options) -> Iterable[Prompt]:
    """The prompts of ``options.source``."""
    from cascade_rl_ifeval import generate

    return generate.builtin_prompts(split, options)


@hookimpl
def load_demonstrations(split: Split, options: Options) -> Iterable[Demonstration]:
    """Replies to the built-in prompts, a share of them wrong; real data has none."""
    from cascade_rl_ifeval import generate

    return generate.builtin_demonstrations(split, options)


@hookimpl
def reward(prompt: Prompt, completion: Completion) -> Reward:
    """1 when every instruction is followed strictly, else 0."""
    from cascade_rl_ifeval.rewards import score

    return score(prompt, completion)


@hookimpl
def length_budget(options: Options) -> LengthBudget:
    """Tokens of a prompt and of a completion."""
    builtin = options.source == "builtin"
    return LengthBudget(
        prompt_tokens=options.prompt_tokens or (64 if builtin else 1024),
        completion_tokens=options.completion_tokens or (48 if builtin else 8192),
        overlong=options.overlong or "zero",
    )


@hookimpl
def sampling_params(options: Options) -> SamplingParams:
    """Temperature 0.6, top-p 0.95, top-k 20, groups of 8: the paper's IF-RL stages."""
    if options.source == "builtin":
        return SamplingParams(temperature=1.0, n=8)
    return SamplingParams(temperature=0.6, top_p=0.95, top_k=20, n=8)


@hookimpl
def gold_completion(prompt: Prompt) -> str | None:
    """The right reply to a built-in prompt; None for real data, which has many."""
    gold = prompt.metadata.get("gold")
    if not isinstance(gold, str):
        return None
    return f"<think>\n</think>\n{gold}" if prompt.mode == "think" else gold
