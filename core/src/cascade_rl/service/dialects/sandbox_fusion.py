"""SandboxFusion: ``POST /run_code``, where a served pack can run programs.

verl's client tries again on 504 and on nothing else, so 504 is what a full queue answers here.
A fault of the sandbox is a 200 with ``SandboxError``, as in the original.
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from cascade_rl.service.dialects.runner import Runners
from cascade_rl.service.problems import answer
from cascade_rl.service.programs import Program, ProgramRun, Step
from cascade_rl.service.scoring import Scoring
from cascade_rl.service.strict_json import StrictRoute

NAME = "sandbox-fusion"
OVERLOAD = 504
_STEPS = {"finished": "Finished", "error": "Error", "time_limit": "TimeLimitExceeded"}


class RunCodeRequest(BaseModel):
    """A program and its limits."""

    model_config = ConfigDict(extra="ignore")

    code: str
    language: str = "python"
    stdin: str | None = None
    compile_timeout: float = Field(default=10, gt=0, le=600)
    run_timeout: float = Field(default=10, gt=0, le=600)
    memory_limit_MB: int = Field(default=-1, description="-1 leaves it to the server.")  # noqa: N815 - the wire's name
    files: dict[str, str | None] = Field(default_factory=dict, description="Path to base64.")
    fetch_files: list[str] = Field(default_factory=list)


class CommandResult(BaseModel):
    """How one step ended."""

    status: Literal["Finished", "Error", "TimeLimitExceeded"]
    execution_time: float | None
    return_code: int | None
    stdout: str | None
    stderr: str | None


class RunCodeReply(BaseModel):
    """How the program ended."""

    status: Literal["Success", "Failed", "SandboxError"]
    message: str
    compile_result: CommandResult | None
    run_result: CommandResult | None
    executor_pod_name: str | None
    files: dict[str, str]


def routes(scoring: Scoring, described: dict[str, Any]) -> APIRouter | None:
    """``POST /run_code``; None where no served pack can run programs."""
    runners = Runners(scoring, OVERLOAD)
    if not runners:
        return None
    router = APIRouter(route_class=StrictRoute, tags=[NAME])

    @router.post("/run_code", response_model=RunCodeReply, openapi_extra=described)
    async def run_code(body: RunCodeRequest, request: Request) -> Response:
        """SandboxFusion: run one program."""
        runner = runners.pick(request)
        program = Program(
            language=body.language,
            code=body.code,
            stdin=body.stdin or "",
            files={path: data for path, data in body.files.items() if data is not None},
            fetch_files=tuple(body.fetch_files),
            compile_timeout_s=body.compile_timeout,
            run_timeout_s=body.run_timeout,
            memory_mb=body.memory_limit_MB if body.memory_limit_MB > 0 else None,
        )
        return answer(reply(await runner.run(program)))

    return router


def reply(run: ProgramRun) -> dict[str, Any]:
    """SandboxFusion's form of a run."""
    steps = [step for step in (run.compile, run.run) if step is not None]
    fine = all(step.status == "finished" and step.return_code == 0 for step in steps)
    status = "SandboxError" if run.fault is not None else "Success" if fine else "Failed"
    return {
        "status": status,
        "message": run.fault or "",
        "compile_result": _result(run.compile),
        "run_result": _result(run.run),
        "executor_pod_name": None,
        "files": run.files,
    }


def _result(step: Step | None) -> dict[str, Any] | None:
    if step is None:
        return None
    return {
        "status": _STEPS[step.status],
        "execution_time": step.seconds,
        "return_code": step.return_code,
        "stdout": step.stdout,
        "stderr": step.stderr,
    }
