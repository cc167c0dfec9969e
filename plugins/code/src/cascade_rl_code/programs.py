"""Checkers and interactors with a source of their own: run in the sandbox, read by exit code.

Both follow testlib: ``checker INPUT OUTPUT ANSWER`` and ``interactor INPUT OUTPUT ANSWER``
(the interactor's OUTPUT is a sink), the verdict in the exit code, points in the first line of
standard error. They may be written in any language of the sandbox.
"""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from cascade_rl.sandbox import Limits, Outcome, Program, Sandbox, Status, TestRun
from cascade_rl_code.verdicts import OF_STATUS, Judged, Verdict

#: For programs of the problem's author.
JUDGE_LIMITS = Limits(cpu_s=15.0, wall_s=30.0, memory_mb=1024, output_kb=16 * 1024)

#: testlib's exit codes; 7 and the codes from 16 on stand for points.
_EXIT_CODES: Mapping[int, Verdict] = {
    0: Verdict.AC,
    1: Verdict.WA,
    2: Verdict.PE,
    3: Verdict.JUDGE_FAIL,
    4: Verdict.PE,  # "dirt": more output than expected
    8: Verdict.PE,  # unexpected end of file
}
_POINTS_EXIT, _PARTIAL_EXIT = 7, 16
_POINTS = re.compile(rb"points\s+(\S+)")
_PARTIAL = re.compile(rb"partially correct\s*\((\d+)\)")


def program_of(source: str, language: str, testlib: str | None = None) -> Program:
    """A checker or interactor that may include ``testlib.h``: ours, or the file ``testlib``."""
    if "testlib.h" not in source:
        return Program(source, language)
    return Program(source, language, headers={"testlib.h": _header(testlib)})


@cache
def _header(path: str | None) -> bytes:
    return (Path(path) if path else Path(__file__).with_name("testlib.h")).read_bytes()


def check_program(
    sandbox: Sandbox, checker: Program, max_points: float, stdin: bytes, out: bytes, answer: bytes
) -> Judged:
    """Run a checker on one output."""
    test = TestRun(
        argv=("{input}", "{output}", "{answer}"),
        files={"input": stdin, "output": out, "answer": answer},
    )
    outcome = next(iter(sandbox.check(checker, [test], JUDGE_LIMITS)))
    return judged_by(outcome, max_points, "checker")


def interact_program(
    sandbox: Sandbox,
    program: Program,
    interactor: Program,
    max_points: float,
    stdin: bytes,
    answer: bytes,
    limits: Limits,
) -> tuple[Judged, Outcome]:
    """Run an answer against an interactor; also what the answer's run was like."""
    test = TestRun(
        argv=("{input}", "/dev/null", "{answer}"), files={"input": stdin, "answer": answer}
    )
    exchange = sandbox.interact(program, interactor, test, limits, JUDGE_LIMITS)
    run = exchange.program
    if run.status not in (Status.OK, Status.RE):
        return Judged(OF_STATUS[run.status], run.message), run
    judged = judged_by(exchange.judge, max_points, "interactor")
    decided = judged.verdict in (Verdict.AC, Verdict.WA, Verdict.INFRA)
    if run.status is Status.RE and not decided and not _died_of_the_end(run):
        return Judged(Verdict.RE, run.message), run
    return judged, run


def _died_of_the_end(run: Outcome) -> bool:
    """Whether an answer failed because the interactor had ended, its verdict given."""
    ended = ("EOFError", "BrokenPipeError")
    return run.signal == signal.SIGPIPE or run.message.startswith(ended)


def judged_by(outcome: Outcome, max_points: float, who: str) -> Judged:
    """The verdict that a checker's or interactor's exit stands for.

    Points outside 0 to ``max_points`` and every unknown exit are JUDGE_FAIL.
    """
    if outcome.status is Status.INFRA:
        return Judged(Verdict.INFRA, f"{who}: {outcome.message}")
    code = outcome.exit_code
    if outcome.status not in (Status.OK, Status.RE) or code is None:
        return Judged(Verdict.JUDGE_FAIL, f"{who} ended with {outcome.status}: {outcome.message}")
    first = outcome.stderr.strip().split(b"\n", 1)[0]
    partial = _PARTIAL.match(first)
    if partial:
        return _pointed(partial[1], 100.0, who)
    if code == _POINTS_EXIT:
        points = _POINTS.match(first)
        return _pointed(points[1] if points else first.split(b" ", 1)[0], max_points, who)
    if code in _EXIT_CODES:
        verdict = _EXIT_CODES[code]
        # What a checker says may quote the answer: only its own failures are shown.
        says = first[:200].decode(errors="replace") if verdict is Verdict.JUDGE_FAIL else verdict
        return Judged(verdict, f"{who}: {says}" if verdict is not Verdict.AC else "")
    if _PARTIAL_EXIT <= code <= _PARTIAL_EXIT + 100:
        return _pointed(str(code - _PARTIAL_EXIT).encode(), 100.0, who)
    return Judged(Verdict.JUDGE_FAIL, f"{who}: exit code {code} has no meaning")


def _pointed(text: bytes, most: float, who: str) -> Judged:
    try:
        points = float(text[:40])
    except ValueError:
        points = math.nan
    if not 0 <= points <= most:
        shown = text[:40].decode(errors="replace")
        return Judged(Verdict.JUDGE_FAIL, f"{who}: {shown!r} points are out of range 0..{most:g}")
    if points == most:
        return Judged(Verdict.AC)
    return Judged(Verdict.WA, f"{who}: {points:g} of {most:g} points", score=points / most)
