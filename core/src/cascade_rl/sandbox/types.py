"""What goes into a sandbox and what comes out: plain frozen records, the same for every backend.

A verdict (right or wrong) is not made here: a sandbox never learns what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How a run ended. Every one but ``INFRA`` is the program's own doing."""

    OK = "OK"
    """Ended by itself with exit code 0, within its limits."""
    TLE = "TLE"
    """Used more CPU time than it may."""
    ILE = "ILE"
    """Idle for too long: asleep or blocked, using no CPU."""
    MLE = "MLE"
    """Used more memory than it may."""
    OLE = "OLE"
    """Wrote more output than it may."""
    RE = "RE"
    """Exit code other than 0, an uncaught exception, or killed by a signal."""
    CE = "CE"
    """Does not compile (syntax error), or compiling it exceeded the compiler's limits."""
    INFRA = "INFRA"
    """The machine or the sandbox failed, not the program: never to be scored, retry it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use. The whole process tree counts, not only its first process."""

    cpu_s: float = 2.0
    """CPU seconds, user and system, of all threads and processes together."""
    wall_s: float = 10.0
    """Seconds that it may be idle. Time spent waiting for a busy core does not count."""
    memory_mb: int = 512
    """MiB of memory in use at once."""
    output_kb: int = 8192
    """KiB of standard output, and as much again of standard error or of a returned value."""
    processes: int = 64
    """Processes and threads at once."""

    def __post_init__(self) -> None:
        for name in ("cpu_s", "wall_s", "memory_mb", "output_kb", "processes"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueError(f"limits: {name} must be greater than 0, got {value!r}")


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Program:
    """Source code in a language of ``LANGUAGES``; ``headers`` are files beside it to compile with.

    ``{"testlib.h": b"..."}`` makes ``#include "testlib.h"`` work; runs do not see headers.
    """

    source: str
    language: str = "python"
    headers: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a function that a Python program defines.

    ``function`` is an expression in the program's namespace: ``"solve"``,
    ``"Solution().twoSum"``. Arguments are plain data (see ``Outcome.value``).
    """

    function: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    return_args: bool = False
    """Return the positional arguments as they are after the call (a list), not its result."""


@dataclass(frozen=True, slots=True)
class TestRun:
    """One run of a program: with ``stdin``, or (Python only) to make one ``call``.

    ``files`` are readable by the program under a path each; ``"{name}"`` in ``argv`` stands
    for the path of ``files[name]``: a testlib checker is run with
    ``argv=("{input}", "{output}", "{answer}")``.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    stdin: bytes = b""
    call: Call | None = None
    argv: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


NO_INPUT = TestRun()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run did. Everything in it may have been written by a hostile program."""

    status: Status
    exit_code: int | None = None
    """None when killed by a signal or never started."""
    signal: int = 0
    stdout: bytes = field(default=b"", repr=False)
    """At most ``Limits.output_kb``."""
    stderr: bytes = field(default=b"", repr=False)
    """The last few KiB."""
    returned: bool = False
    """Whether ``value`` is what the call returned; False: it returned no plain data."""
    value: Any = None
    """None, bool, int, float, str, bytes, complex, list, tuple, set, frozenset, dict: exact
    types, built outside from JSON. Subclasses and numpy values arrive as the plain type."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_mb: float = 0.0
    """Peak, MiB."""
    survivors: int = 0
    """Processes that had to be killed after the program's first process ended."""
    message: str = ""
    """One line for a person: which limit, which exception, the compiler's last words."""

    @property
    def ok(self) -> bool:
        """Whether the program ended by itself with exit code 0 within its limits."""
        return self.status is Status.OK


@dataclass(frozen=True, slots=True)
class Exchange:
    """How two programs that talked to each other ended."""

    program: Outcome
    """The answer under test. ``stdout`` is what it sent (``examine``: what it printed)."""
    judge: Outcome
    """The interactor or examiner; its exit code and stderr carry its judgement."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """What a sandbox really enforces on this host, for the record of a verdict."""

    backend: str
    level: str
    """namespaces | container | remote | none"""
    enforced: Mapping[str, str]
    """Limit or wall -> how it is enforced ("cgroup v1", "RLIMIT_NPROC", "not enforced")."""
