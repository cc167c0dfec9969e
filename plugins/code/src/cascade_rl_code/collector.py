"""The code that runs beside an answer and gathers values for ``asserts.Collected`` tests.

It holds inputs only. What it returns is plain data, judged by ``Check.holds`` elsewhere; an
answer that meddles with it can only change the values it is judged by.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from cascade_rl_code.asserts import Collected
from cascade_rl_code.verdicts import Judged, Verdict

#: What is called to run all parts; its argument: whether to stop at the first exception.
NAME = "_cascade_collect"

_COLLECT = """
def {name}(stop):
    from copy import deepcopy
    collected = []
    for part in ({parts}):
        values = []
        def keep(value):
            if value is not None and not isinstance(value, (int, float, str, bytes)):
                try:
                    value = deepcopy(value)
                except Exception:
                    pass
            values.append(value)
        try:
            part(keep)
        except BaseException as error:
            collected.append([values, type(error).__name__])
            if stop:
                break
        else:
            collected.append([values, ""])
    return collected
"""


def with_collector(source: str, plans: Sequence[Collected]) -> str:
    """The program with a function ``NAME`` that returns ``[values, exception]`` for each plan."""
    parts = [
        f"def _cascade_{number}(keep):\n{textwrap.indent(plan.body, '    ')}\n"
        for number, plan in enumerate(plans)
    ]
    names = "".join(f"_cascade_{number}, " for number in range(len(plans)))
    return "\n".join([source, *parts, _COLLECT.format(name=NAME, parts=names)])


def judge_values(plan: Collected, entry: Any) -> Judged:
    """The verdict on one entry of what ``NAME`` returned.

    Its score is the share of the declared assertions that hold, whatever came of the rest.
    """
    match entry:
        case [list(values), str(raised)]:
            pass
        case _:
            return Judged(Verdict.RE, "the values of the test are missing")
    declared = len(plan.checks)
    held = [check.holds(value) for check, value in zip(plan.checks, values, strict=False)]
    share = sum(held) / declared
    if not all(held):
        message = f"assertion {held.index(False) + 1} of {declared} failed"
        return Judged(Verdict.WA, message, share)
    if raised == "MemoryError":
        return Judged(Verdict.MLE, raised, share)
    if raised or len(values) != declared:
        where = f"at assertion {len(values) + 1} of {declared}"
        return Judged(Verdict.RE, f"{(raised or 'ended')[:80]} {where}", share)
    return Judged(Verdict.AC)
