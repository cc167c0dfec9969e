"""Overlong filtering: which samples take part in an update, and on which score.

The paper (section 4.5.2): with filtering a truncated response is skipped, without it the
response gets reward 0; in RLHF it keeps what the reward model gave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cascade_rl.types import LengthBudget, Overlong, Reward


@dataclass(frozen=True)
class Verdict:
    """What one sample brings to the update.

    ``score`` is None where the sample was not scored; a masked sample keeps its score, which
    counts in the group's statistics only on request (``masked_in_group``). ``correct`` is
    the unshaped verdict after the rule for overlong completions.
    """

    take_part: bool
    score: float | None
    correct: bool | None


def _mask(reward: Reward) -> Verdict:
    return Verdict(take_part=False, score=reward.score, correct=reward.correct)


def _zero(reward: Reward) -> Verdict:
    correct = None if reward.correct is None else False
    return Verdict(take_part=True, score=0.0, correct=correct)


def _keep(reward: Reward) -> Verdict:
    return Verdict(take_part=True, score=reward.score, correct=reward.correct)


_TRUNCATED: dict[Overlong, Callable[[Reward], Verdict]] = {
    "mask": _mask,
    "zero": _zero,
    "keep": _keep,
}


def judge(reward: Reward, budget: LengthBudget) -> Verdict:
    """Apply ``budget.overlong`` to one reward. An unscored sample never takes part."""
    if reward.score is None:
        return Verdict(take_part=False, score=None, correct=None)
    return _TRUNCATED[budget.overlong](reward) if reward.truncated else _keep(reward)


def judge_batch(rewards: Iterable[Reward], budget: LengthBudget) -> list[Verdict]:
    """``judge`` for each reward, in order."""
    return [judge(reward, budget) for reward in rewards]
