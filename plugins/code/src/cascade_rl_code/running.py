"""``run_code``: one program, run once, for the service's routes that take programs.

No verdict is given here, and no test is known. Programs get standard input and nothing else: a
sandbox has no writable folder to put files in.
"""

from __future__ import annotations

from dataclasses import replace

from cascade_rl.sandbox import (
    COMPILE_LIMITS,
    Limits,
    Outcome,
    Sandbox,
    SandboxError,
    Status,
    TestRun,
    find_language,
)
from cascade_rl.sandbox import Program as Source
from cascade_rl.service.programs import Program, ProgramRun, Step
from cascade_rl_code import workplace
from cascade_rl_code.options import Options

_TOO_LONG = (Status.TLE, Status.ILE)


def run_code(program: Program, options: Options) -> ProgramRun:
    """Compile and run a program in the sandbox of ``options``.

    A time limit holds for CPU time and for idle time, each. Raises ``SandboxError`` for what
    cannot be run here: an unknown language, files.
    """
    if program.files or program.fetch_files:
        raise SandboxError(
            "files and fetch_files: a program gets no files here, as its sandbox has no writable"
            " folder; send what it reads as stdin, and read what it prints"
        )
    language = find_language(program.language)
    source = Source(program.code, language.name)
    sandbox = workplace.sandbox(options)
    made = _compile(sandbox, source, program.compile_timeout_s)
    if made.status is Status.INFRA:
        return ProgramRun(fault=made.message)
    if not made.ok:
        failed = _step(made)
        return ProgramRun(run=failed) if language.native_python else ProgramRun(compile=failed)
    limits = Limits(
        cpu_s=program.run_timeout_s,
        wall_s=program.run_timeout_s,
        memory_mb=program.memory_mb or options.memory_mb,
    )
    test = TestRun(stdin=program.stdin.encode(errors="surrogatepass"))
    ran = next(iter(sandbox.run(source, [test], limits)))
    compiled = None if language.native_python else _step(made)
    if ran.status is Status.INFRA:
        return ProgramRun(compile=compiled, fault=ran.message)
    return ProgramRun(compile=compiled, run=_step(ran))


def _compile(sandbox: Sandbox, source: Source, timeout_s: float) -> Outcome:
    return sandbox.compile(source, replace(COMPILE_LIMITS, cpu_s=timeout_s, wall_s=timeout_s))


def _step(outcome: Outcome) -> Step:
    stderr = outcome.stderr.decode(errors="replace")
    too_long = outcome.status in _TOO_LONG or _compiled_too_long(outcome)
    if outcome.status in (Status.MLE, Status.OLE):
        stderr += f"\n{outcome.message}\n"  # no exit code says so
    return Step(
        status="time_limit" if too_long else "finished",
        seconds=outcome.wall_s,
        return_code=None if too_long else _return_code(outcome),
        stdout=outcome.stdout.decode(errors="replace"),
        stderr=stderr,
    )


def _compiled_too_long(outcome: Outcome) -> bool:
    return outcome.status is Status.CE and "exceeds a limit" in outcome.message


def _return_code(outcome: Outcome) -> int:
    """As Python's subprocess has it: negative for a signal; never 0 for a run that failed."""
    code = -outcome.signal if outcome.signal else outcome.exit_code or 0
    return code if outcome.ok or code else 1
