"""What a pack offers that can run programs: one function, ``run_code``, beside its hooks.

    def run_code(program: Program, options: Options) -> ProgramRun: …

``options`` may be left out, as in a hook; they are those that the domain is served with.
The service calls it on a thread, so it must keep its own limits (a sandbox does), for the
routes of peers that send programs instead of completions. Those routes exist only where a
served pack has the function. Imports nothing of the extra, so that a pack can import it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import Field

from cascade_rl.types import Record


class Program(Record):
    """A program to run once. ``files`` are base64, by path relative to the working folder."""

    language: str = "python"
    code: str
    stdin: str = ""
    files: dict[str, str] = Field(default_factory=dict)
    fetch_files: tuple[str, ...] = ()
    compile_timeout_s: float = Field(default=10.0, gt=0)
    run_timeout_s: float = Field(default=10.0, gt=0)
    memory_mb: int | None = Field(default=None, gt=0)


class Step(Record):
    """How compiling or running ended. ``return_code`` is None where there was none."""

    status: Literal["finished", "error", "time_limit"]
    seconds: float = 0.0
    return_code: int | None = None
    stdout: str = ""
    stderr: str = ""


class ProgramRun(Record):
    """What happened. ``fault`` is the sandbox's own, never the program's: nothing was judged."""

    compile: Step | None = None
    run: Step | None = None
    fault: str | None = None
    files: dict[str, str] = Field(default_factory=dict)


RunCode = Callable[[Program], ProgramRun]
