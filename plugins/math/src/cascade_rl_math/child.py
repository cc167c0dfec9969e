"""The parent's side of the dear layers: one child at work, one in reserve.

A comparison that the cheap layers leave open is answered by a child process, which is killed
at the time limit; the reserve takes its place at once and another is started behind it. Its
start is not counted in the limit: ``warm`` (the ``open`` hook) takes it before the first
verdict. Waiting for another thread's comparison is not counted either.
"""

from __future__ import annotations

from cascade_rl.workers import CallFailed, CallPool, WorkerDied, WorkerTimeout
from cascade_rl_math.layers import Verdict
from cascade_rl_math.rules import Rules

#: Seconds that the dear layers may take over one comparison.
TIME_LIMIT_S = 0.5

_children = CallPool("cascade_rl_math.symbolic:serve", reserve=1)


def ask(gold: str, answer: str, rules: Rules, time_limit_s: float) -> Verdict:
    """The verdict of the dear layers. A child that cannot start is raised."""
    try:
        decided = _children.call([gold, answer, list(rules)], time_limit_s)
    except WorkerTimeout:
        return Verdict(False, f"too_expensive: no result within {time_limit_s:g} s")
    except WorkerDied as error:
        return Verdict(False, f"too_expensive: {error}")
    except CallFailed as error:
        return Verdict(False, f"unparsed: {error}")
    return Verdict(decided["equal"], decided["layer"])


def warm() -> None:
    """Start the child where it is not running, and wait for it."""
    _children.warm()


def close() -> None:
    """Stop the children; the next comparison that needs one starts another."""
    _children.close()
