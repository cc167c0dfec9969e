"""Prompt filtering: which prompts are worth sampling or keeping in a batch.

``EpochFilter`` works between passes over the prompts (Math RL), ``has_signal`` within a
batch (IF-RL, after DAPO's dynamic sampling). Drawing replacements is the loop's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cascade_rl.config.schema import FilterConfig
from cascade_rl.errors import RunError
from cascade_rl.types import LengthBudget, Reward
from cascade_rl_trainer.algorithm.overlong import judge_batch
from cascade_rl_trainer.algorithm.randomness import chance


def has_signal(
    rewards: Sequence[Reward], budget: LengthBudget, *, masked_in_group: bool = False
) -> bool:
    """Whether one prompt's group can teach anything.

    True iff the counted samples differ in raw correctness: shaping (a length bonus, say)
    does not make an all-right group worth training on. Where a counted sample has no
    ``correct``, the scores decide.
    """
    verdicts = judge_batch(rewards, budget)
    counted = [v for v in verdicts if v.take_part or (masked_in_group and v.score is not None)]
    if not any(v.take_part for v in counted):
        return False
    if any(v.correct is None for v in counted):
        return len({v.score for v in counted}) > 1
    return len({v.correct for v in counted}) > 1


class EpochFilter:
    """Drops prompts that were all right or all wrong in an epoch; lets few of them back.

    ``record`` each group of the epoch, call ``end_epoch`` after its last step, and ask
    ``select`` for the next epoch's prompts. A dropped prompt is drawn anew for every epoch
    (probability ``return_hard`` if it was all wrong, ``return_easy`` if all right), from
    (seed, stage, epoch, prompt id) alone. One that comes back and is mixed stays.
    """

    def __init__(self, config: FilterConfig, seed: int, stage: str) -> None:
        self._config, self._seed, self._stage = config, seed, stage
        self._counts: dict[str, list[int]] = {}
        self._hard: set[str] = set()
        self._easy: set[str] = set()

    def record(self, prompt_id: str, rewards: Sequence[Reward]) -> None:
        """Count one group: right and total of its scored samples.

        Truncated samples count with their own verdict even where they are masked: a prompt
        whose only finished sample is right is not an easy one. Without verdicts
        (``correct`` None) a sample is right when it beats the worst of its group, so that
        equal scores read as all wrong.
        """
        scored = [r for r in rewards if r.score is not None]
        right = _right(scored)
        counts = self._counts.setdefault(prompt_id, [0, 0])
        counts[0] += right
        counts[1] += len(scored)

    def end_epoch(self) -> dict[str, int]:
        """Decide who is dropped, forget the epoch's counts, and report the numbers."""
        for prompt_id, (right, total) in self._counts.items():
            if total == 0:  # nothing was scored: no evidence either way
                continue
            self._hard.discard(prompt_id)
            self._easy.discard(prompt_id)
            if right == 0:
                self._hard.add(prompt_id)
            elif right == total:
                self._easy.add(prompt_id)
        seen, self._counts = len(self._counts), {}
        return {"seen": seen, "dropped_hard": len(self._hard), "dropped_easy": len(self._easy)}

    def select(self, prompt_ids: Sequence[str], epoch: int) -> list[str]:
        """The prompts of an epoch (0 is the first), in the given order."""
        return [p for p in prompt_ids if self._plays(p, epoch)]

    def _plays(self, prompt_id: str, epoch: int) -> bool:
        if prompt_id in self._hard:
            back = self._config.return_hard
        elif prompt_id in self._easy:
            back = self._config.return_easy
        else:
            return True
        return chance("epoch_filter", self._seed, self._stage, epoch, prompt_id) < back

    def state(self) -> dict[str, Any]:
        """Everything needed to go on, as plain JSON."""
        return {
            "counts": self._counts,
            "dropped_hard": sorted(self._hard),
            "dropped_easy": sorted(self._easy),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over what ``state`` gave; raises ``RunError`` when it is something else."""
        try:
            counts = {str(p): [int(r), int(t)] for p, (r, t) in state["counts"].items()}
            hard, easy = set(state["dropped_hard"]), set(state["dropped_easy"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(f"not the state of an epoch filter: {state!r:.200}") from error
        self._counts, self._hard, self._easy = counts, hard, easy


def _right(scored: Sequence[Reward]) -> int:
    if any(r.correct is None for r in scored):
        worst = min(r.score for r in scored if r.score is not None)
        return sum(r.score is not None and r.score > worst for r in scored)
    return sum(bool(r.correct) for r in scored)
