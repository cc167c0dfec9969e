"""The built-in sums: numbers, splits, noise and length as the options say."""

from __future__ import annotations

import math

import pytest

from cascade_rl.types import Completion, Stage
from cascade_rl_math import (
    Options,
    gold_completion,
    length_budget,
    load_demonstrations,
    load_prompts,
    reward,
)
from cascade_rl_math.builtin import columns

STAGE = Stage(name="math", kind="grpo", index=0)


def test_the_addition_is_written_column_by_column() -> None:
    assert columns((17, 8), 2) == "7+8+0=15;1+0+1=2"
    assert columns((95, 7), 2) == "5+7+0=12;9+0+1=10"
    assert columns((199, 1, 50), 3) == "9+1+0+0=10;9+0+5+1=15;1+0+0+1=2"


def test_a_problem_and_its_demonstration() -> None:
    options = Options(demonstration_noise=0)
    shown = {d.id: d for split in ("train", "eval") for d in load_demonstrations(split, options)}
    sum_ = shown["math-17+8"]
    assert (sum_.text, sum_.ground_truth, sum_.mode) == ("17+8=?", "25", "think")
    assert sum_.completion == r"<think>7+8+0=15;1+0+1=2</think>\boxed{25}"


def test_the_default_has_every_sum_once_and_enough_eval() -> None:
    train, held_out = load_prompts("train", Options()), load_prompts("eval", Options())
    ids = [prompt.id for prompt in [*train, *held_out]]
    assert len(ids) == len(set(ids)) == 2_500
    assert len(held_out) >= 600
    assert all(prompt.text.isascii() and len(prompt.text) <= 32 for prompt in train)


def test_a_split_depends_on_the_id_alone() -> None:
    """Another seed, size or count never moves a problem from eval to train."""
    eval_ids = {prompt.id for prompt in load_prompts("eval", Options())}
    others = [Options(seed=7), Options(max_operand=99), Options(digits=3, count=5_000)]
    for options in others:
        assert not eval_ids & {prompt.id for prompt in load_prompts("train", options)}


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"digits": 2}, 10_000),
        ({"max_operand": 9}, 100),
        ({"digits": 1, "terms": 3}, 1_000),
        ({"digits": 4, "terms": 4}, 10_000),
        ({"digits": 4, "terms": 4, "count": 50}, 50),
    ],
)
def test_how_many_problems(options: dict[str, int], count: int) -> None:
    chosen = Options(**options)
    ids = {p.id for split in ("train", "eval") for p in load_prompts(split, chosen)}
    assert len(ids) == count


@pytest.mark.parametrize("noise", [0.0, 0.3, 0.999, 1.0])
def test_exactly_the_stated_share_of_demonstrations_is_wrong(noise: float) -> None:
    options = Options(demonstration_noise=noise)
    shown = list(load_demonstrations("train", options))
    scores = [reward(d, Completion(text=d.completion), options).score for d in shown]
    assert scores.count(0.0) == math.floor(noise * len(shown))


def test_noise_does_not_touch_the_thoughts_and_comes_from_the_seed() -> None:
    clean = load_demonstrations("train", Options(demonstration_noise=0))
    noisy = load_demonstrations("train", Options())
    again = load_demonstrations("train", Options())
    other = {d.id: d for d in load_demonstrations("train", Options(seed=1))}
    assert noisy == again
    assert {d.id for d in noisy if d.completion != other[d.id].completion}
    for one, two in zip(clean, noisy, strict=True):
        assert one.completion.partition("</think>")[0] == two.completion.partition("</think>")[0]


def test_rambling_repeats_right_columns_and_spreads_the_lengths() -> None:
    plain = load_demonstrations("train", Options(demonstration_noise=0))
    long = load_demonstrations("train", Options(demonstration_noise=0, ramble=0.5))
    longer = sum(len(b.completion) > len(a.completion) for a, b in zip(plain, long, strict=True))
    assert longer == len(plain) // 2
    assert {d.completion.count("check:") for d in long} == {0, 1, 2}
    assert max(len(d.completion) for d in long) <= 96
    assert all(reward(d, Completion(text=d.completion), Options()).correct for d in long)


def test_modes() -> None:
    options = Options(mode="none", demonstration_noise=0)
    (first, *_) = load_demonstrations("train", options)
    assert first.completion == f"\\boxed{{{first.ground_truth}}}"
    assert gold_completion(first) == first.completion
    (thinking, *_) = load_prompts("train", Options())
    assert gold_completion(thinking) == f"<think></think>\\boxed{{{thinking.ground_truth}}}"


@pytest.mark.parametrize(
    ("options", "completion_tokens"),
    [({}, 96), ({"digits": 2, "ramble": 0.5}, 96), ({"digits": 4, "terms": 4, "ramble": 0.5}, 195)],
)
def test_the_budget_holds_the_longest_demonstration(
    options: dict[str, float], completion_tokens: int
) -> None:
    chosen = Options(**options)
    budget = length_budget(chosen)
    assert (budget.prompt_tokens, budget.overlong) == (32, "mask")
    assert budget.completion_tokens == completion_tokens
    shown = load_demonstrations("train", chosen)
    assert max(len(d.completion) for d in shown) <= completion_tokens


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"digits": 2, "max_operand": 99}, "give digits or max_operand, not both"),
        ({"terms": 1}, "greater than or equal to 2"),
        ({"demonstration_noise": 1.5}, "less than or equal to 1"),
        ({"operands": 3}, "Extra inputs are not permitted"),
        ({"path": "a.jsonl"}, "source 'builtin' reads no data"),
        ({"source": "gsm8k"}, "source 'gsm8k' needs exactly one of path and hub"),
    ],
)
def test_bad_options_say_what_is_allowed(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Options(**options)
