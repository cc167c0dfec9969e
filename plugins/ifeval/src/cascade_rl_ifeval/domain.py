"""The hooks of the domain: thin, each calls the file that does the work."""

from __future__ import annotations

from collections.abc import Iterable

from cascade_rl.errors import DataError
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
from cascade_rl_ifeval import generate, language, rewards
from cascade_rl_ifeval.load import load
from cascade_rl_ifeval.options import Options, Source

_RECIPE = SamplingParams(temperature=0.6, top_p=0.95, top_k=20, n=8)
_SAMPLING: dict[Source, SamplingParams] = {
    "builtin": SamplingParams(temperature=1.0, n=8),
    "ifeval_jsonl": _RECIPE,
    "ifrl_parquet": _RECIPE,
}
#: Prompt and completion tokens by default.
_TOKENS: dict[Source, tuple[int, int]] = {
    "builtin": (64, 48),
    "ifeval_jsonl": (2048, 8192),
    "ifrl_parquet": (2048, 8192),
}


@hookimpl
def load_prompts(split: Split, options: Options) -> Iterable[Prompt]:
    """The prompts of ``options.source``."""
    if options.source == "builtin":
        return generate.builtin_prompts(split, options)
    return load(split, options)


@hookimpl
def load_demonstrations(split: Split, options: Options) -> Iterable[Demonstration]:
    """Replies to the built-in prompts, a share of them wrong; real data holds no replies."""
    if options.source == "builtin":
        return generate.builtin_demonstrations(split, options)
    raise DataError(
        f"source {options.source!r} holds prompts without replies: there is nothing to imitate. "
        "Take the demonstrations of an SFT stage from another domain, or set source: builtin."
    )


@hookimpl
def reward(prompt: Prompt, completion: Completion) -> Reward:
    """1 when every instruction is followed strictly, else 0."""
    return rewards.score(prompt, completion)


@hookimpl
def length_budget(options: Options) -> LengthBudget:
    """64 + 48 tokens for the built-in prompts, else 2,048 + 8,192 (IF-RL, stage 1).

    Truncated is 0: no overlong filtering (the paper's Appendix D). The second stage of its
    thinking models filters: ``completion_tokens: 16384, overlong: mask``.
    """
    prompt_tokens, completion_tokens = _TOKENS[options.source]
    return LengthBudget(
        prompt_tokens=options.prompt_tokens or prompt_tokens,
        completion_tokens=options.completion_tokens or completion_tokens,
        overlong=options.overlong or "zero",
    )


@hookimpl
def sampling_params(options: Options) -> SamplingParams:
    """Temperature 0.6, top-p 0.95, top-k 20, groups of 8 (the paper's IF-RL); builtin: 1.0."""
    return _SAMPLING[options.source]


@hookimpl
def gold_completion(prompt: Prompt) -> str | None:
    """The right reply to a built-in prompt; None for real data, where many replies are right."""
    gold = prompt.metadata.get("gold")
    if not isinstance(gold, str):
        return None
    return f"<think>\n</think>\n{gold}" if prompt.mode == "think" else gold


@hookimpl
def examples() -> Iterable[Example]:
    """Right, wrong and hostile completions."""
    from cascade_rl_ifeval.example_set import EXAMPLES

    return EXAMPLES


@hookimpl
def open(options: Options) -> None:  # noqa: A001 - the name of the hook
    """Load the language profiles before the first reward; built-in prompts need none."""
    if options.source != "builtin":
        language.warm_up()
