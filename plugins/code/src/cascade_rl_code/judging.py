"""Judging an answer: its tests are run in the sandbox, and what comes out is compared here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from cascade_rl.sandbox import Call, Limits, Outcome, Program, Sandbox, Status, TestRun
from cascade_rl_code import checkers, programs
from cascade_rl_code.asserts import Collected, Examined, plan
from cascade_rl_code.collector import NAME, judge_values, with_collector
from cascade_rl_code.output import Tolerance, compare_output
from cascade_rl_code.plain import equal_json
from cascade_rl_code.subtasks import score_subtasks
from cascade_rl_code.truth import GroundTruth, Test
from cascade_rl_code.verdicts import OF_STATUS, Judged, Judgement, TestResult, Verdict

#: Exit code of test code that wants to send the answer what cannot be sent.
IMPOSSIBLE = 3


@dataclass(frozen=True)
class Policy:
    """How tests are run and compared where the ground truth leaves it open."""

    limits: Limits = field(default_factory=Limits)
    tolerance: float = 1e-6
    stop_early: bool = True
    total_cpu_s: float = 20.0
    testlib: str | None = None


@dataclass(frozen=True)
class Task:
    """An answer (its whole source) with what judges it."""

    sandbox: Sandbox
    truth: GroundTruth
    source: str
    language: str
    policy: Policy

    @property
    def program(self) -> Program:
        """The answer as the sandbox takes it."""
        return Program(self.source, self.language)


def judge(task: Task, order: Sequence[int] | None = None) -> Judgement:
    """One result for every declared test; with ``stop_early``, SKIPPED after a failure.

    ``order``: in which the tests are run. An answer that has used ``total_cpu_s`` CPU seconds
    is too expensive: TLE on the next test. Raises ``BadTest`` for an assert that is no test.
    """
    tests = task.truth.tests
    order = range(len(tests)) if order is None else order
    results: dict[int, TestResult] = {}
    spent = 0.0
    for result in _run(task, order):
        results[result.index] = result
        spent += result.cpu_s
        if task.policy.stop_early and result.verdict is not Verdict.AC:
            break
        if spent > task.policy.total_cpu_s and len(results) < len(tests):
            index = next(index for index in order if index not in results)
            message = f"too_expensive: {spent:.0f} CPU seconds for {len(results)} tests"
            results[index] = TestResult(index, Verdict.TLE, 0.0, message)
            break
    every = tuple(
        results.get(index) or TestResult(index, Verdict.SKIPPED, 0.0) for index in range(len(tests))
    )
    return Judgement(every, score_subtasks(task.truth.subtasks, every))


def _run(task: Task, order: Iterable[int]) -> Iterator[TestResult]:
    indices = list(order)
    kinds = {index: task.truth.tests[index].kind for index in indices}
    if task.truth.interactor is not None:
        yield from _interactive(task, indices)
        return
    yield from _runs(task, [index for index in indices if kinds[index] != "assert"])
    yield from _asserts(task, [index for index in indices if kinds[index] == "assert"])


def _runs(task: Task, indices: list[int]) -> Iterator[TestResult]:
    """Tests with stdin or arguments, each a run of its own."""
    if not indices:
        return
    inputs = (_input(task.truth, task.truth.tests[index]) for index in indices)
    outcomes = task.sandbox.run(task.program, inputs, task.policy.limits)
    with closing(_generator(outcomes)) as running:
        # The outcome first: zip would else take an index for an outcome that never comes.
        for outcome, index in zip(running, indices, strict=False):
            test = task.truth.tests[index]
            yield _result(index, outcome, _compared(task, test, outcome))


def _generator(outcomes: Iterator[Outcome]) -> Any:
    if hasattr(outcomes, "close"):
        return outcomes
    return (outcome for outcome in outcomes)


def _input(truth: GroundTruth, test: Test) -> TestRun:
    if test.args is None:
        return TestRun(stdin=_bytes(test.stdin))
    function = callable_expression(truth.function or "")
    after = test.args_after is not None
    return TestRun(call=Call(function, test.args, test.kwargs, return_args=after))


def callable_expression(function: str) -> str:
    """``f`` may be a function or, as LeetCode has it, a method of a class ``Solution``."""
    if not function.isidentifier():
        return function
    return f"({function} if {function!r} in globals() else Solution().{function})"


def _compared(task: Task, test: Test, outcome: Outcome) -> Judged:
    if outcome.status is not Status.OK:
        return _ended(task, outcome)
    if test.args is not None:
        return _compared_value(task, test, outcome)
    truth = task.truth
    expected = _bytes(test.stdout)
    if truth.checker is None:
        tolerance = Tolerance(
            task.policy.tolerance if truth.tolerance is None else truth.tolerance,
            integers_by_value=bool(truth.tolerance),
        )
        return compare_output(outcome.stdout, expected, truth.compare, tolerance)
    checker = truth.checker
    if checker.name is not None:
        return checkers.run_checker(checker.name, outcome.stdout, expected)
    program = programs.program_of(checker.source or "", checker.language, task.policy.testlib)
    return programs.check_program(
        task.sandbox, program, checker.max_points, _bytes(test.stdin), outcome.stdout, expected
    )


def _compared_value(task: Task, test: Test, outcome: Outcome) -> Judged:
    if not outcome.returned:
        return _no_value(outcome)
    truth = task.truth
    tolerance = task.policy.tolerance if truth.tolerance is None else truth.tolerance
    expected = test.returns if test.args_after is None else test.args_after
    if equal_json(outcome.value, expected, tolerance, truth.strict_bool):
        return Judged(Verdict.AC)
    return Judged(Verdict.WA, f"another value (a {type(outcome.value).__name__})")


def _ended(task: Task, outcome: Outcome) -> Judged:
    """The verdict on a run that did not end well; a limit is named as it was set, not measured."""
    limits = task.policy.limits
    named = {
        Status.TLE: f"more than {limits.cpu_s:g} s of CPU time",
        Status.ILE: f"idle for more than {limits.wall_s:g} s",
        Status.MLE: f"more than {limits.memory_mb} MiB",
        Status.OLE: f"more than {limits.output_kb} KiB of output",
    }
    return Judged(OF_STATUS[outcome.status], named.get(outcome.status, outcome.message))


def _no_value(outcome: Outcome) -> Judged:
    """The program ended well without a value: it left early, or the value is no plain data."""
    if not outcome.message:
        return Judged(Verdict.RE, "ended before the function returned")
    return Judged(Verdict.WA, outcome.message)


def _interactive(task: Task, indices: list[int]) -> Iterator[TestResult]:
    judge = task.truth.interactor
    assert judge is not None  # only called for such problems
    interactor = programs.program_of(judge.source, judge.language, task.policy.testlib)
    for index in indices:
        test = task.truth.tests[index]
        judged, outcome = programs.interact_program(
            task.sandbox,
            task.program,
            interactor,
            judge.max_points,
            _bytes(test.stdin),
            _bytes(test.stdout),
            task.policy.limits,
        )
        yield _result(index, outcome, judged)


def _asserts(task: Task, indices: list[int]) -> Iterator[TestResult]:
    """Collected tests share one run, and its limits; each examined one has a run of its own."""
    truth = task.truth
    plans = {
        i: plan(truth.tests[i].assertion or "", truth.function, truth.prelude) for i in indices
    }
    collected = {i: p for i, p in plans.items() if isinstance(p, Collected)}
    yield from _collected(task, collected)
    for index, test in plans.items():
        if isinstance(test, Examined):
            yield _examined(task, index, test)


def _collected(task: Task, plans: dict[int, Collected]) -> Iterator[TestResult]:
    if not plans:
        return
    stop = task.policy.stop_early
    source = with_collector(task.source, list(plans.values()))
    run = TestRun(call=Call(NAME, (stop,)))
    outcome = next(
        iter(task.sandbox.run(Program(source, task.language), [run], task.policy.limits))
    )
    if outcome.status is Status.OK and outcome.returned and isinstance(outcome.value, list):
        for (index, test), entry in zip(plans.items(), outcome.value, strict=False):
            yield _result(index, outcome, judge_values(test, entry))
    elif len(plans) > 1 and (not stop or outcome.status is Status.OK):
        # Which test it was is only known when each has a run of its own.
        for index, test in plans.items():
            yield from _collected(task, {index: test})
    elif outcome.status is Status.OK:
        yield _result(next(iter(plans)), outcome, _no_value(outcome))
    else:
        yield _result(next(iter(plans)), outcome, _ended(task, outcome))


def _examined(task: Task, index: int, test: Examined) -> TestResult:
    limits = task.policy.limits
    examiner = Program(test.source, "python")
    exchange = task.sandbox.examine(task.program, examiner, test.functions, limits, limits)
    run, judge = exchange.program, exchange.judge
    if run.status in (Status.OK, Status.RE) and judge.status in (Status.OK, Status.RE):
        if judge.status is Status.OK:
            return _result(index, run, Judged(Verdict.AC))
        if judge.exit_code == IMPOSSIBLE:
            return _result(index, run, Judged(Verdict.JUDGE_FAIL, f"the test: {judge.message}"))
        wrong = judge.message.startswith("AssertionError")
        verdict = Verdict.WA if wrong else Verdict.RE
        said = run.message if run.status is Status.RE else judge.message
        message = "assertion failed" if wrong else said
        return _result(index, run, Judged(verdict, message))
    at_fault = run if run.status not in (Status.OK, Status.RE) else judge
    return _result(index, run, _ended(task, at_fault))


def _result(index: int, outcome: Outcome, judged: Judged) -> TestResult:
    return TestResult(
        index, judged.verdict, judged.points, judged.message, outcome.cpu_s, outcome.memory_mb
    )


def _bytes(text: str | None) -> bytes:
    return (text or "").encode(errors="surrogatepass")


def limits_of(truth: GroundTruth, cpu_s: float, memory_mb: int) -> Limits:
    """The limits of the ground truth, and these where it has none; wall time is a backstop."""
    own = truth.limits
    cpu = own.cpu_s or cpu_s
    limits = Limits(
        cpu_s=cpu, wall_s=own.wall_s or max(10.0, 3 * cpu), memory_mb=own.memory_mb or memory_mb
    )
    return replace(limits, output_kb=own.output_kb) if own.output_kb else limits
