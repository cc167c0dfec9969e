"""What is wrong with test suites: found once, at load, not by a policy scored wrong for ever."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cascade_rl_code.asserts import BadTest, plan
from cascade_rl_code.layouts.problem import BadRow, Problem
from cascade_rl_code.options import Options
from cascade_rl_code.truth import BadTruth, GroundTruth, read_truth

_SHOWN = 5
_MANY = re.compile(
    r"\b(?:print|output|return|find|report|give) any\b"
    r"|\b(?:print|output|return|find|report|give)\b[^.\n]{0,80}"
    r"\b(?:any of|in any order"
    r"|any (?:one )?(?:answer|solution|such|valid|correct|possible|optimal))"
    r"|\b(?:multiple|several|many|more than one)\s+(?:\w+ )?(?:answers?|solutions?|outputs?|ways)\b"
    r"[^.\n]{0,80}\bany\b"
    r"|\bany (?:valid|correct|optimal) (?:answer|solution|output)",
    re.IGNORECASE,
)
_TALKS = re.compile(r"\binteractive problem\b|\bthis problem is interactive\b", re.IGNORECASE)


@dataclass
class Report:
    """What a load found, with the places; ``bad`` rows were left out."""

    rows: int = 0
    kept: int = 0
    bad: list[tuple[str, str]] = field(default_factory=list)
    duplicate_problems: list[str] = field(default_factory=list)
    duplicate_tests: dict[str, int] = field(default_factory=dict)
    failing_solutions: list[tuple[str, str]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The report for a person, one finding a line, with the first places of each."""
        yield f"{self.kept} of {self.rows} problems can be judged"
        yield from _listed("left out", [f"{place}: {why}" for place, why in self.bad])
        yield from _listed("problems that came before", self.duplicate_problems)
        repeated = [f"{place}: {count}" for place, count in self.duplicate_tests.items()]
        yield from _listed("problems with repeated tests (removed)", repeated)
        failing = [f"{place}: {why}" for place, why in self.failing_solutions]
        yield from _listed("problems whose reference solution fails", failing)


def _listed(what: str, places: list[str]) -> Iterator[str]:
    if places:
        more = f"; and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        yield f"{len(places)} {what}: {'; '.join(places[:_SHOWN])}{more}"


def cleaned(problem: Problem, options: Options) -> tuple[Problem, GroundTruth, int]:
    """The problem with sound tests, and how many repeated ones were removed.

    Raises ``BadRow`` with what makes its verdicts worthless.
    """
    tests, repeated = _distinct(problem.truth)
    truth = problem.truth | {"tests": tests} if repeated else problem.truth
    if options.max_tests is not None and len(tests) > options.max_tests:
        truth = truth | {"tests": _longest(tests, options.max_tests)}
    try:
        read = read_truth(truth)
    except BadTruth as error:
        raise BadRow(str(error)) from error
    _check(problem, read, options)
    return Problem(**{**vars(problem), "truth": truth}), read, repeated


def _check(problem: Problem, truth: GroundTruth, options: Options) -> None:
    if len(truth.tests) < options.min_tests:
        raise BadRow(f"{len(truth.tests)} tests, fewer than min_tests ({options.min_tests})")
    if truth.checker is None and truth.interactor is None:
        if _TALKS.search(problem.text):
            raise BadRow("an interactive problem without an interactor")
        asks = _MANY.search(problem.text)
        asserted = any(test.kind == "assert" for test in truth.tests)  # these may well allow it
        if asks and options.many_answers == "drop" and not asserted:
            raise BadRow(f"many answers are right ({asks[0]!r}) but there is no checker")
        _contradictions(truth)
    for number, test in enumerate(truth.tests):
        if test.assertion is not None:
            try:
                plan(test.assertion, truth.function, truth.prelude)
            except BadTest as error:
                raise BadRow(f"tests[{number}]: {error}") from error


def _contradictions(truth: GroundTruth) -> None:
    seen: dict[str, str] = {}
    for number, test in enumerate(truth.tests):
        if test.kind == "assert":
            continue
        given = json.dumps([test.stdin, test.args, test.kwargs], sort_keys=True)
        wanted = json.dumps([(test.stdout or "").split(), test.returns, test.args_after])
        if seen.setdefault(given, wanted) != wanted:
            raise BadRow(f"tests[{number}] has the input of an earlier test and another output")


def _distinct(truth: dict[str, Any]) -> tuple[list[Any], int]:
    """The tests without those that are the same as one before; subtasks number all of them."""
    tests = truth.get("tests")
    if not isinstance(tests, list) or truth.get("subtasks"):
        return tests if isinstance(tests, list) else [], 0
    kept: dict[str, Any] = {}
    for test in tests:
        kept.setdefault(json.dumps(test, sort_keys=True, default=repr), test)
    return list(kept.values()), len(tests) - len(kept)


def _longest(tests: list[Any], most: int) -> list[Any]:
    ranked = sorted(range(len(tests)), key=lambda i: (-len(json.dumps(tests[i], default=repr)), i))
    return [tests[index] for index in sorted(ranked[:most])]
