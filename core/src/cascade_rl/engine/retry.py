"""The second try, the blame, and the quarantine: from one failed try to a final verdict.

A sample that ends as ``timeout`` or ``error`` is tried once more, alone on a worker (a new
one, if it cost the first its life). If it fails again and the pack's gold completion for the
same prompt passes, the completion is what breaks the verifier, and it is scored wrong:
unscored must not become a way out. A worker that somebody else killed is no evidence against a
completion (the machine ran out of memory, say). What cost two workers is kept for replay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from cascade_rl.engine.attempt import Attempt, Executor, Task, Then, closed
from cascade_rl.engine.counts import Counts
from cascade_rl.engine.quarantine import Quarantine
from cascade_rl.types import Reward

#: The component by which such a verdict is known, in logs and counts.
BLAMED = "breaks_the_verifier"
_log = logging.getLogger("cascade_rl.engine")


class Judge:
    """Gives each sample its final verdict, over an executor that makes single tries."""

    def __init__(
        self,
        executor: Executor,
        quarantine: Quarantine,
        counts: Counts,
        fresh_retries: bool,
        blame: bool,
    ) -> None:
        self._executor, self._quarantine, self._counts = executor, quarantine, counts
        self._fresh_retries, self._blame = fresh_retries, blame

    def start(self, task: Task, then: Then) -> None:
        """See ``Scorer``."""
        self._executor.attempt(task, partial(_safely, self._after_first, task, then))

    def close(self) -> None:
        """Stop the executor."""
        self._executor.close()

    def _after_first(self, task: Task, then: Then, first: Attempt) -> None:
        if not first.failed or first.final:
            then(first)
            return
        self._counts.add("second_tries")
        self._executor.attempt(
            task,
            partial(_safely, self._after_second, task, then, first),
            alone=True,
            fresh=first.lost and self._fresh_retries,
        )

    def _after_second(self, task: Task, then: Then, first: Attempt, second: Attempt) -> None:
        if second.failed and first.lost and second.lost:
            self._put_in_quarantine(task, second)
        spared = first.outside or second.outside or not self._blame
        if not second.failed or second.final or spared:
            then(second)
            return
        after = partial(_safely, self._after_gold, task, then, second)
        self._executor.attempt(task, after, alone=True, gold=True)

    def _put_in_quarantine(self, task: Task, failed: Attempt) -> None:
        self._counts.add("quarantined")
        kept = self._quarantine.keep(task.item, failed.reward)
        if failed.reward.status == "error":
            reason = f"{failed.reward.reason}; twice, so it is quarantined: {kept}"
            failed.reward = failed.reward.model_copy(update={"reason": reason})

    def _after_gold(self, task: Task, then: Then, failed: Attempt, gold: Attempt) -> None:
        """Decide between the pack's fault and a completion that breaks verifiers."""
        del task
        if gold.reward.correct is True:
            self._counts.add("breaks_the_verifier")
            failed = Attempt(_wrong(failed.reward), storable=False)
        then(failed)


def _safely(step: Callable[..., None], task: Task, then: Then, *attempts: Attempt) -> None:
    """A fault of ours must neither lose the sample nor stop the executor's thread."""
    try:
        step(task, then, *attempts)
    except Exception as error:
        _log.exception("the engine's own fault")
        then(closed(f"the engine's own fault: {type(error).__name__}: {error}"))


def _wrong(failed: Reward) -> Reward:
    reason = f"breaks the verifier twice ({failed.reason}) while the gold completion passes"
    return Reward.verdict(
        False,
        reason=reason,
        components={BLAMED: 1.0},
        truncated=failed.truncated,
        pack_version=failed.pack_version,
    )
