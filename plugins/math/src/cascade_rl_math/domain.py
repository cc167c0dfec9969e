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
from cascade_rl_math import verify
from cascade_rl_math.builtin import demonstrate_sums, load_sums, longest_reply
from cascade_rl_math.example_set import EXAMPLES
from cascade_rl_math.extract import extract, last_box
from cascade_rl_math.loaders import demonstrate_problems, load_problems
from cascade_rl_math.options import Options

_SHOWN_CHARS = 200


@hookimpl
def load_prompts(split: Split, options: Options) -> Iterable[Prompt]:
    """The problems of a split, without their solutions."""
    load = load_sums if options.source == "builtin" else load_problems
    return load(split, options)


@hookimpl
def load_demonstrations(split: Split, options: Options) -> Iterable[Demonstration]:
    """The same problems, each with a solution to imitate."""
    load = demonstrate_sums if options.source == "builtin" else demonstrate_problems
    return load(split, options)


@hookimpl
def reward(prompt: Prompt, completion: Completion, options: Options) -> Reward:
    """1 where the last box equals the gold, else 0; unscored where the gold is no answer."""
    gold = prompt.ground_truth
    if isinstance(gold, bool) or not isinstance(gold, str | int | float):
        kind = type(gold).__name__
        return Reward.unscored("bad_prompt", f"ground_truth is a {kind}; text or a number is read")
    found = extract(prompt, completion)
    if found.answer is None:
        return Reward.verdict(False, found.reason)
    shown = found.answer[:_SHOWN_CHARS]
    try:
        verdict = verify.verify(str(gold), found.answer, options.time_limit_s)
    except verify.BadGold as error:
        return Reward.unscored("bad_prompt", str(error), extracted=shown)
    if verdict.equal:
        return Reward.verdict(True, f"equal: {verdict.layer}", extracted=shown)
    return Reward.verdict(False, verify.explain(verdict), extracted=shown)


@hookimpl
def length_budget(options: Options) -> LengthBudget:
    """Characters of a builtin sum, or the first maths stage of the paper (appendix D)."""
    if options.source == "builtin":
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
    thoughts = "<think></think>" if prompt.mode == "think" else ""
    reply = f"{thoughts}\\boxed{{{verify.gold_text(str(prompt.ground_truth))}}}"
    return reply if last_box(reply).answer is not None else None


@hookimpl
def examples() -> Iterable[Example]:
    """Right, wrong and hostile replies with the reward each must get."""
    return EXAMPLES


@hookimpl
def open(options: Options) -> None:  # noqa: A001 - the hook's name
    """Start the symbolic child before the first reward; whole numbers never need it."""
    if options.source != "builtin":
        verify.warm()


@hookimpl
def close() -> None:
    """Stop the symbolic child."""
    verify.close()
