"""The hooks of the domain: each a few lines that hand on to the module that does the work.

What a reward needs is imported at the first one, so that importing the pack stays quick.
"""

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
from cascade_rl_math.options import Options


@hookimpl
def load_prompts(split: Split, options: Options) -> Iterable[Prompt]:
    """The problems of a split, without their solutions."""
    if options.source == "builtin":
        from cascade_rl_math.builtin import load_sums

        return load_sums(split, options)
    from cascade_rl_math.loaders import load_problems

    return load_problems(split, options)


@hookimpl
def load_demonstrations(split: Split, options: Options) -> Iterable[Demonstration]:
    """The same problems, each with a solution to imitate."""
    if options.source == "builtin":
        from cascade_rl_math.builtin import demonstrate_sums

        return demonstrate_sums(split, options)
    from cascade_rl_math.loaders import demonstrate_problems

    return demonstrate_problems(split, options)


@hookimpl
def reward(prompt: Prompt, completion: Completion, options: Options) -> Reward:
    """1 where the answer equals the gold, else 0; unscored where the gold is no answer."""
    from cascade_rl_math.judge import judge

    return judge(prompt, completion, options)


@hookimpl
def length_budget(options: Options) -> LengthBudget:
    """Characters of a builtin sum, or the first maths stage of the paper (appendix D)."""
    if options.source == "builtin":
        from cascade_rl_math.builtin import longest_reply

        room = max(96, longest_reply(options))
        return LengthBudget(prompt_tokens=32, completion_tokens=room, overlong="mask")
    return LengthBudget(prompt_tokens=2048, completion_tokens=24 * 1024, overlong="mask")


@hookimpl
def sampling_params(options: Options) -> SamplingParams:
    """Temperature 1 and groups of 8, as in the first maths stage of the paper."""
    return SamplingParams(temperature=1.0, top_p=1.0 if options.source == "builtin" else 0.95, n=8)


@hookimpl
def gold_completion(prompt: Prompt) -> str | None:
    """The shortest right reply."""
    from cascade_rl_math.extract import last_box
    from cascade_rl_math.reading import gold_text

    thoughts = "<think></think>" if prompt.mode == "think" else ""
    reply = f"{thoughts}\\boxed{{{gold_text(str(prompt.ground_truth))}}}"
    return reply if last_box(reply).answer is not None else None


@hookimpl
def examples() -> Iterable[Example]:
    """Right, wrong and hostile replies with the reward each must get."""
    from cascade_rl_math.example_set import EXAMPLES

    return EXAMPLES


@hookimpl
def open(options: Options) -> None:  # noqa: A001 - the hook's name
    """Start the symbolic child before the first reward; whole numbers never need it."""
    if options.source != "builtin":
        from cascade_rl_math import verify

        verify.warm()


@hookimpl
def close() -> None:
    """Stop the symbolic child."""
    from cascade_rl_math import verify

    verify.close()
