"""Which tests to run first: those that have failed most often for the same problem.

It saves time where the first failing test ends the judging, and changes no score. A worker
remembers for itself; nothing is shared or stored.
"""

from __future__ import annotations

from collections import Counter, OrderedDict

from cascade_rl_code.verdicts import UNSCORED, Judgement, Verdict


class FailureOrder:
    """Counts of failures per test, for the last ``size`` problems that were judged."""

    def __init__(self, size: int = 20_000) -> None:
        self._size = size
        self._counts: OrderedDict[str, Counter[int]] = OrderedDict()

    def order(self, prompt_id: str, tests: int) -> list[int]:
        """All test indices, the most failed first, else in the order of the data."""
        counts = self._counts.get(prompt_id)
        if not counts:
            return list(range(tests))
        return sorted(range(tests), key=lambda index: (-counts[index], index))

    def learn(self, prompt_id: str, judgement: Judgement) -> None:
        """Take the failures of a judged answer into account."""
        failed = [
            result.index
            for result in judgement.results
            if result.verdict not in UNSCORED | {Verdict.AC, Verdict.SKIPPED, Verdict.CE}
        ]
        if not failed:
            return
        self._counts.setdefault(prompt_id, Counter()).update(failed)
        self._counts.move_to_end(prompt_id)
        while len(self._counts) > self._size:
            self._counts.popitem(last=False)
