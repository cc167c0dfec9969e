"""What a truncated or unscored completion brings to an update."""

from __future__ import annotations

import pytest

from cascade_rl.types import LengthBudget, Reward
from cascade_rl_trainer.algorithm.overlong import Verdict, judge, judge_batch


def budget(overlong):
    return LengthBudget(prompt_tokens=8, completion_tokens=8, overlong=overlong)


WHOLE = Reward.verdict(True)
CUT = Reward(score=0.25, correct=True, truncated=True)


@pytest.mark.parametrize("overlong", ["mask", "zero", "keep"])
def test_a_finished_completion_keeps_its_score(overlong):
    assert judge(WHOLE, budget(overlong)) == Verdict(True, 1.0, True)


@pytest.mark.parametrize(
    ("overlong", "expected"),
    [
        ("mask", Verdict(False, 0.25, True)),
        ("zero", Verdict(True, 0.0, False)),
        ("keep", Verdict(True, 0.25, True)),
    ],
)
def test_a_truncated_completion_follows_the_budget(overlong, expected):
    assert judge(CUT, budget(overlong)) == expected


@pytest.mark.parametrize("overlong", ["mask", "zero", "keep"])
@pytest.mark.parametrize("truncated", [True, False])
def test_an_unscored_completion_never_takes_part(overlong, truncated):
    reward = Reward.unscored("timeout", "slow", truncated=truncated)
    assert judge(reward, budget(overlong)) == Verdict(False, None, None)


def test_zero_without_a_verdict_stays_without_one():
    cut = Reward(score=3.5, truncated=True)
    assert judge(cut, budget("zero")) == Verdict(True, 0.0, None)


def test_a_batch_keeps_its_order():
    verdicts = judge_batch([CUT, WHOLE], budget("mask"))
    assert [v.take_part for v in verdicts] == [False, True]
