"""The remote backend: a SandboxFusion server, asked over HTTP one run at a time.

What is isolated and how is the server's business. It knows wall time only (no CPU time, so a
time limit depends on its load) and neither memory nor output verdicts. No conversations:
``interact`` and ``examine`` are refused. Needs ``pip install "cascade-rl[client]"``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from cascade_rl.sandbox.base import COMPILE_LIMITS, Sandbox
from cascade_rl.sandbox.errors import LanguageMissing, SandboxError, SandboxUnavailable
from cascade_rl.sandbox.guest import values
from cascade_rl.sandbox.languages import LANGUAGES, find_language
from cascade_rl.sandbox.outcomes import last_line
from cascade_rl.sandbox.types import (
    DEFAULT_LIMITS,
    Exchange,
    Isolation,
    Limits,
    Outcome,
    Program,
    Status,
    TestRun,
)

#: Our name -> the server's.
NAMES = {
    "python": "python",
    "cpp17": "cpp",
    "cpp20": "cpp",
    "java": "java",
    "rust": "rust",
    "go": "go",
    "javascript": "nodejs",
}
_TRIES = 2
_NO_ANSWER = (ValueError, KeyError, TypeError, AttributeError)  # JSON of some other shape
_REFUSAL = "the remote sandbox cannot run {}: use bubblewrap or docker"
_MARK = "cascade-rl value: "
_CALL = """\
import json
{codec}
namespace = {{"__name__": "answer", "__file__": "answer.py"}}
function, args, kwargs, return_args = loads({spec!r})
exec(compile({source!r}, "answer.py", "exec"), namespace)
result = eval(function, namespace)(*args, **kwargs)
try:
    text = dumps(list(args) if return_args else result).decode()
except NotPlain as error:
    import sys
    print(error, file=sys.stderr)
else:
    print("\\n{mark}" + text, flush=True)
"""


class RemoteSandbox(Sandbox):
    """A client of one server."""

    def __init__(self, url: str) -> None:
        try:
            import httpx
        except ImportError as error:
            raise SandboxUnavailable(
                'httpx is missing: pip install "cascade-rl[client]"'
            ) from error
        self.url = url.rstrip("/")
        self._client = httpx.Client(base_url=self.url)
        self._fault = httpx.HTTPError

    @property
    def isolation(self) -> Isolation:
        """See ``Sandbox.isolation``."""
        there = "by the server"
        return Isolation(
            backend="remote",
            level="remote",
            enforced={
                "cpu": "wall time, by the server: depends on its load",
                "memory": there,
                "processes": there,
                "output": "here, after the run",
                "network": there,
                "files": there,
            },
        )

    def languages(self) -> tuple[str, ...]:
        """What such a server is known to run."""
        return tuple(NAMES)

    def compile(self, program: Program, limits: Limits = COMPILE_LIMITS) -> Outcome:
        """Run without input: the server has no request for compiling alone."""
        outcome = self._ask(program, TestRun(), limits)
        return outcome if outcome.status in (Status.CE, Status.INFRA) else Outcome(Status.OK)

    def run(
        self,
        program: Program,
        tests: Iterable[TestRun],
        limits: Limits = DEFAULT_LIMITS,
        stop_on: Callable[[Outcome], bool] | None = None,
    ) -> Iterator[Outcome]:
        """See ``Sandbox.run``."""
        for test in tests:
            outcome = self._ask(program, test, limits)
            yield outcome
            if outcome.status is Status.CE or (stop_on is not None and stop_on(outcome)):
                return

    def check(
        self, program: Program, tests: Iterable[TestRun], limits: Limits = DEFAULT_LIMITS
    ) -> Iterator[Outcome]:
        """See ``Sandbox.check``."""
        return self.run(program, tests, limits)

    def interact(self, *_args: Any, **_options: Any) -> Exchange:
        """Refused."""
        raise SandboxError(_REFUSAL.format("interactive problems"))

    def examine(self, *_args: Any, **_options: Any) -> Exchange:
        """Refused."""
        raise SandboxError(_REFUSAL.format("test code (asserts)"))

    def close(self) -> None:
        """See ``Sandbox.close``."""
        self._client.close()

    def _ask(self, program: Program, test: TestRun, limits: Limits) -> Outcome:
        try:
            program.source.encode()
        except UnicodeEncodeError as error:  # a server could only fail, which would judge nothing
            return Outcome(Status.CE, message=f"the source is not Unicode text: {error}")
        body = request_body(program, test, limits)
        said = ""
        for _ in range(_TRIES):
            try:
                answer = self._client.post(
                    "/run_code", json=body, timeout=COMPILE_LIMITS.wall_s + limits.wall_s + 60
                )
                answer.raise_for_status()
                outcome = outcome_of_answer(answer.json(), limits, test.call is not None)
            except (self._fault, *_NO_ANSWER) as error:
                said = f"{self.url} failed: {type(error).__name__}: {error}"
                continue
            if outcome.status is not Status.INFRA:
                return outcome
            said = outcome.message
        return Outcome(Status.INFRA, message=said)


def request_body(program: Program, test: TestRun, limits: Limits) -> dict[str, Any]:
    """The JSON of one ``POST /run_code``; raises ``SandboxError`` for what it cannot say."""
    language = find_language(program.language)
    if language.name not in NAMES:
        raise LanguageMissing(f"{language.name} is not a language of SandboxFusion's")
    if test.argv:
        raise SandboxError("the remote sandbox passes no arguments: checkers cannot run there")
    source, stdin = program.source, test.stdin
    if test.call is not None:
        if language is not LANGUAGES["python"]:
            raise SandboxError(f"only Python functions can be called, not {language.name}")
        source, stdin = _call_source(program, test), b""
    try:
        text = stdin.decode()
    except UnicodeDecodeError as error:
        raise SandboxError(f"the remote sandbox takes UTF-8 as input only: {error}") from error
    files = {**program.headers, **test.files}
    return {
        "code": source,
        "language": NAMES[language.name],
        "stdin": text,
        "compile_timeout": COMPILE_LIMITS.wall_s,
        "run_timeout": limits.wall_s,
        "memory_limit_MB": limits.memory_mb,
        "files": {name: base64.b64encode(data).decode() for name, data in files.items()},
    }


def outcome_of_answer(answer: dict[str, Any], limits: Limits, called: bool) -> Outcome:
    """The server's answer as an outcome; raises ``KeyError`` and its like if it is none."""
    if answer["status"] == "SandboxError":
        return Outcome(Status.INFRA, message=f"SandboxError: {answer.get('message')}")
    compiled = answer.get("compile_result")
    if compiled is not None and (compiled["status"] != "Finished" or compiled["return_code"] != 0):
        if compiled["status"] == "Error":
            return Outcome(Status.INFRA, message="the server's compiler could not be run")
        said = _bytes(compiled.get("stderr"))
        return Outcome(Status.CE, stderr=said[-4096:], message=last_line(said))
    ran = answer["run_result"]
    stdout, stderr = _bytes(ran.get("stdout")), _bytes(ran.get("stderr"))
    status = _status(ran, stdout, limits)
    returned, value = False, None
    if called and status is Status.OK:
        stdout, _, text = stdout.rpartition(f"\n{_MARK}".encode())
        try:
            returned, value = True, values.loads(text.strip())
        except values.NotPlain:
            returned = False
    return Outcome(
        status=status,
        exit_code=ran.get("return_code"),
        stdout=stdout[: limits.output_kb * 1024],
        stderr=stderr[-4096:],
        returned=returned,
        value=value,
        wall_s=ran.get("execution_time") or 0.0,
        message="" if status is Status.OK else last_line(stderr) or status.value,
    )


def _bytes(text: str | None) -> bytes:
    """JSON can say lone surrogates; they become bytes that are no UTF-8, never an error."""
    return (text or "").encode("utf-8", "surrogatepass")


def _status(ran: dict[str, Any], stdout: bytes, limits: Limits) -> Status:
    if ran["status"] == "TimeLimitExceeded":
        return Status.TLE
    if ran["status"] == "Error":
        return Status.INFRA
    if len(stdout) > limits.output_kb * 1024:
        return Status.OLE
    return Status.OK if ran["return_code"] == 0 else Status.RE


def _call_source(program: Program, test: TestRun) -> str:
    call = test.call
    assert call is not None
    spec = values.dumps([call.function, list(call.args), dict(call.kwargs), call.return_args])
    codec = Path(values.__file__).read_text().partition("import annotations\n")[2]
    return _CALL.format(codec=codec, spec=spec, source=program.source, mark=_MARK)
