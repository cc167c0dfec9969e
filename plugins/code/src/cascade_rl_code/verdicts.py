"""What a test and an answer are found to be. Records only; nothing here judges."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cascade_rl.sandbox import Status


class Verdict(StrEnum):
    """How one test ended, in the words of contest judges."""

    AC = "AC"
    """accepted"""
    WA = "WA"
    """wrong answer"""
    PE = "PE"
    """presentation error: the right tokens, laid out wrongly"""
    TLE = "TLE"
    """CPU time limit exceeded"""
    ILE = "ILE"
    """idleness limit exceeded"""
    MLE = "MLE"
    """memory limit exceeded"""
    OLE = "OLE"
    """output limit exceeded"""
    RE = "RE"
    """runtime error: an exception, a signal, an exit code other than 0"""
    CE = "CE"
    """compile error"""
    SKIPPED = "SKIPPED"
    """not run: an earlier test failed"""
    JUDGE_FAIL = "JUDGE_FAIL"
    """the checker, interactor or test failed: not scored"""
    INFRA = "INFRA"
    """the sandbox or the machine failed: not scored"""


#: Faults that are not the answer's: such an answer has no score.
UNSCORED = frozenset({Verdict.JUDGE_FAIL, Verdict.INFRA})

#: What a run that did not end well is called; ``OK`` is for the comparison to judge.
OF_STATUS: dict[Status, Verdict] = {
    Status.TLE: Verdict.TLE,
    Status.ILE: Verdict.ILE,
    Status.MLE: Verdict.MLE,
    Status.OLE: Verdict.OLE,
    Status.RE: Verdict.RE,
    Status.CE: Verdict.CE,
    Status.INFRA: Verdict.INFRA,
}


@dataclass(frozen=True)
class Judged:
    """A verdict on one output; ``score`` (0 to 1) is less than 1 only for partial points.

    ``message`` never quotes what was expected.
    """

    verdict: Verdict
    message: str = ""
    score: float | None = None

    @property
    def points(self) -> float:
        """The score: 1 for AC and 0 for the rest, unless a checker gave points."""
        return float(self.verdict is Verdict.AC) if self.score is None else self.score


@dataclass(frozen=True)
class TestResult:
    """What came of one test; ``index`` is its place in the ground truth, from 0."""

    __test__ = False

    index: int
    verdict: Verdict
    score: float
    message: str = ""
    cpu_s: float = 0.0
    memory_mb: float = 0.0


@dataclass(frozen=True)
class SubtaskResult:
    """Points of one subtask."""

    id: str
    points: float
    of: float


@dataclass(frozen=True)
class Judgement:
    """What came of an answer: one result for every test that the ground truth declares."""

    results: tuple[TestResult, ...]
    subtasks: tuple[SubtaskResult, ...] = ()

    @property
    def passed(self) -> int:
        """How many tests were accepted."""
        return sum(result.verdict is Verdict.AC for result in self.results)

    @property
    def accepted(self) -> bool:
        """Whether every test was accepted."""
        return self.passed == len(self.results)

    @property
    def fraction(self) -> float:
        """Points, or the mean score of the declared tests: 0 to 1."""
        if self.subtasks:
            return sum(s.points for s in self.subtasks) / sum(s.of for s in self.subtasks)
        return sum(result.score for result in self.results) / len(self.results)

    @property
    def fault(self) -> TestResult | None:
        """The first test that could not be judged."""
        return next((r for r in self.results if r.verdict in UNSCORED), None)

    @property
    def failure(self) -> TestResult | None:
        """The first test that was run and not accepted."""
        passing = (Verdict.AC, Verdict.SKIPPED)
        return next((r for r in self.results if r.verdict not in passing), None)
