"""What follows a ``TransientError``: another try after a pause, or the end of the sample."""

from __future__ import annotations

import random
import time

from cascade_rl.engine.attempt import Attempt
from cascade_rl.engine.limits import Limits

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0


def next_due(limits: Limits, started: float, tries: int, attempt: Attempt) -> float | None:
    """When (monotonic clock) to try again after ``tries`` tries that began at ``started``.

    None: not again. ``attempt`` is then the final one; where tries or time were used up, its
    reason says so.
    """
    if attempt.retry_after_s is None:
        return None
    now = time.monotonic()
    due = now + pause_s(tries, attempt.retry_after_s)
    if tries < limits.tries and due < started + limits.deadline_s:
        return due
    times = "once" if tries == 1 else f"{tries} times"
    reason = f"{attempt.reward.reason} (tried {times} in {now - started:.1f} s)"
    attempt.reward = attempt.reward.model_copy(update={"reason": reason})
    attempt.final = True
    return None


def pause_s(tries: int, retry_after_s: float) -> float:
    """How long to wait after ``tries`` transient faults: doubling, jittered, capped.

    The jitter takes away up to half, so that samples which failed together come back apart.
    """
    longest = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (tries - 1))
    return max(retry_after_s, longest * random.uniform(0.5, 1.0))  # noqa: S311
