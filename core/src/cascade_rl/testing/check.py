"""How a check is written, and how a table of checks is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from cascade_rl.errors import CascadeError
from cascade_rl.testing.results import FINDINGS_SHOWN, NOT_RUN, Finding, Outcome, Result

#: What a check looks at; a check of any subject is a check of a more special one.
S = TypeVar("S", contravariant=True)
_MOST_FINDINGS = 100


class SkipCheck(Exception):
    """Raised by a check that has nothing to look at; the text says why, and what would help."""


@dataclass(frozen=True)
class Check(Generic[S]):
    """One check: its name, what it claims, which checks must have passed before, the code.

    ``run`` yields what is wrong. What a plugin raises in answer to a question ends the check as
    a finding of its own.
    """

    name: str
    title: str
    run: Callable[[S], Iterable[Finding]]
    needs: tuple[str, ...] = ()


class Runner(Generic[S]):
    """Runs the checks of a table over one subject, each at most once."""

    def __init__(self, checks: Sequence[Check[S]], subject: S, again: str) -> None:
        self._checks = {check.name: check for check in checks}
        self._subject, self._again = subject, again
        self._done: dict[str, Result] = {}

    def result(self, name: str) -> Result:
        """The outcome of one check, after those that it needs."""
        if name not in self._done:
            self._done[name] = self._run(self._checks[name])
        return self._done[name]

    def _run(self, check: Check[S]) -> Result:
        started = time.perf_counter()
        outcome, findings, reason = self._outcome(check)
        return Result(
            check=check.name,
            title=check.title,
            outcome=outcome,
            findings=tuple(findings[:FINDINGS_SHOWN]),
            more=max(0, len(findings) - FINDINGS_SHOWN),
            reason=reason,
            rerun=f"{self._again} --only {check.name}",
            seconds=round(time.perf_counter() - started, 3),
        )

    def _outcome(self, check: Check[S]) -> tuple[Outcome, list[Finding], str]:
        for needed in check.needs:
            before = self.result(needed)
            if before.outcome == "failed":
                return "skipped", [], f"{NOT_RUN}: {needed!r} failed"
            if before.outcome == "skipped" and before.reason.startswith(NOT_RUN):
                return "skipped", [], before.reason
        try:
            findings = list(islice(check.run(self._subject), _MOST_FINDINGS))
        except SkipCheck as skip:
            return "skipped", [], str(skip)
        except CascadeError as error:  # it raised, or was killed at a limit
            return "failed", [_broken(check.title, str(error))], ""
        return ("failed" if findings else "ok"), findings, ""


def _broken(title: str, text: str) -> Finding:
    return Finding(given="a call of the plugin", got=text, expected=title)


def by_name(*groups: Sequence[Check[S]]) -> dict[str, Check[S]]:
    """One table of several."""
    return {check.name: check for group in groups for check in group}
