"""open-instruct's code API, where a pack runs programs: ``/test_program``, and with ``_stdio``.

Its client tries three times on any 5xx. Tests that come pickled (its "encoded" form) are
refused: unpickling what a request holds would run it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from cascade_rl.service.dialects.runner import Runner, Runners
from cascade_rl.service.problems import Refusal, answer
from cascade_rl.service.programs import Program, ProgramRun
from cascade_rl.service.scoring import Scoring
from cascade_rl.service.strict_json import StrictRoute

NAME = "open-instruct"
OVERLOAD = 503
MAX_TESTS = 256


class AssertTests(BaseModel):
    """A program and assert statements, each run after it."""

    model_config = ConfigDict(extra="ignore")

    program: str
    tests: list[str] | str = Field(description="Assert statements; the encoded form is refused.")
    max_execution_time: float = Field(default=1.0, gt=0, le=60)


class IoPair(BaseModel):
    """What a program reads and must write."""

    model_config = ConfigDict(extra="ignore")

    input: str
    output: str


class StdioTests(BaseModel):
    """A program and what it must write for each input."""

    model_config = ConfigDict(extra="ignore")

    program: str
    tests: list[IoPair] | str = Field(description="Pairs; the encoded form is refused.")
    max_execution_time: float = Field(default=1.0, gt=0, le=60)


class ProgramResults(BaseModel):
    """1 for a test that passed, and the seconds that it took, in the order of the tests."""

    results: list[int]
    runtimes: list[float]


def routes(scoring: Scoring, described: dict[str, Any]) -> APIRouter | None:
    """Both routes; None where no served pack can run programs."""
    runners = Runners(scoring, OVERLOAD)
    if not runners:
        return None
    router = APIRouter(route_class=StrictRoute, tags=[NAME])

    @router.post("/test_program", response_model=ProgramResults, openapi_extra=described)
    async def test_program(body: AssertTests, request: Request) -> Response:
        """open-instruct: does the program pass these asserts?"""
        runner = runners.pick(request)
        programs = [
            Program(code=f"{body.program}\n{test}\n", run_timeout_s=body.max_execution_time)
            for test in _plain(body.tests)
        ]
        runs = await _run_all(runner, programs)
        return answer(_results([(run, _passed(run)) for run in runs]))

    @router.post("/test_program_stdio", response_model=ProgramResults, openapi_extra=described)
    async def test_program_stdio(body: StdioTests, request: Request) -> Response:
        """open-instruct: does the program write what it must for each input?"""
        runner = runners.pick(request)
        pairs = _plain(body.tests)
        programs = [
            Program(code=body.program, stdin=pair.input, run_timeout_s=body.max_execution_time)
            for pair in pairs
        ]
        runs = await _run_all(runner, programs)
        return answer(
            _results(
                [
                    (run, _passed(run) and _same(_stdout(run), pair.output))
                    for run, pair in zip(runs, pairs, strict=True)
                ]
            )
        )

    return router


def _plain(tests: Any) -> list[Any]:
    if isinstance(tests, str):
        raise Refusal(422, "encoded", "encoded tests are pickled and refused; send them as a list")
    if len(tests) > MAX_TESTS:
        raise Refusal(413, "batch_too_large", f"{len(tests)} tests, the limit is {MAX_TESTS}")
    return list(tests)


async def _run_all(runner: Runner, programs: list[Program]) -> list[ProgramRun]:
    runs = await asyncio.gather(*(runner.run(program) for program in programs))
    faults = [run.fault for run in runs if run.fault is not None]
    if faults:
        raise Refusal(502, "verifier_error", f"the sandbox failed: {faults[0]}")
    return list(runs)


def _passed(run: ProgramRun) -> bool:
    return run.run is not None and run.run.status == "finished" and run.run.return_code == 0


def _stdout(run: ProgramRun) -> str:
    return run.run.stdout if run.run is not None else ""


def _same(got: str, wanted: str) -> bool:
    lines = [[line.rstrip() for line in text.rstrip().split("\n")] for text in (got, wanted)]
    return lines[0] == lines[1]


def _results(judged: list[tuple[ProgramRun, bool]]) -> dict[str, Any]:
    return {
        "results": [int(passed) for _, passed in judged],
        "runtimes": [run.run.seconds if run.run is not None else 0.0 for run, _ in judged],
    }
