"""The one interface that every backend has, as an abstract class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self

from cascade_rl.sandbox.types import (
    DEFAULT_LIMITS,
    NO_INPUT,
    Exchange,
    Isolation,
    Limits,
    Outcome,
    Program,
    TestRun,
)

#: For a compiler; its memory and processes are not the program's.
COMPILE_LIMITS = Limits(cpu_s=20.0, wall_s=20.0, memory_mb=1024, output_kb=64 * 1024, processes=128)


class Sandbox(ABC):
    """Runs untrusted programs. Thread-safe; each call holds one of its workers.

    A limit that a program exceeds is a status of its outcome, never an exception. A fault of
    the sandbox itself is retried once on a fresh worker, then reported as ``Status.INFRA``.
    Exceptions are for wrong requests only: ``UnknownLanguage``, ``LanguageMissing`` (no
    compiler here), ``SandboxError``.
    """

    @property
    @abstractmethod
    def isolation(self) -> Isolation:
        """What is enforced here, and how."""

    @abstractmethod
    def languages(self) -> tuple[str, ...]:
        """Names from ``LANGUAGES`` that can be run here."""

    @abstractmethod
    def compile(self, program: Program, limits: Limits = COMPILE_LIMITS) -> Outcome:
        """Compile (``OK``, ``CE`` or ``INFRA``) and cache by content.

        ``run`` does so by itself; calling this first tells a compile error early.
        """

    @abstractmethod
    def run(
        self,
        program: Program,
        tests: Iterable[TestRun],
        limits: Limits = DEFAULT_LIMITS,
        stop_on: Callable[[Outcome], bool] | None = None,
    ) -> Iterator[Outcome]:
        """One outcome a test, in order, each as soon as its run has ended.

        Stops after the first outcome for which ``stop_on`` returns True. A program that does
        not compile yields one ``CE`` outcome and nothing more. The next test is not read
        before the outcome of the one before was taken.
        """

    @abstractmethod
    def check(
        self, program: Program, tests: Iterable[TestRun], limits: Limits = DEFAULT_LIMITS
    ) -> Iterator[Outcome]:
        """As ``run``, for programs of ours that see expected data, such as checkers.

        They run on workers of their own: an answer never shares a process with such data.
        """

    @abstractmethod
    def interact(
        self,
        program: Program,
        interactor: Program,
        test: TestRun = NO_INPUT,
        limits: Limits = DEFAULT_LIMITS,
        interactor_limits: Limits = DEFAULT_LIMITS,
    ) -> Exchange:
        """Run both at once, each reading as stdin what the other writes to stdout.

        ``test.argv`` and ``test.files`` are the interactor's; ``test.stdin`` is unused. The
        interactor runs as in ``check``. When one ends, the other reads the end of its input
        and has the rest of its limits to end by itself; but once the interactor has failed the
        program is stopped.
        """

    @abstractmethod
    def examine(
        self,
        program: Program,
        examiner: Program,
        functions: Sequence[str] | Mapping[str, str],
        limits: Limits = DEFAULT_LIMITS,
        examiner_limits: Limits = DEFAULT_LIMITS,
    ) -> Exchange:
        """Run Python test code (asserts) against functions that live in another sandbox.

        In ``examiner`` each name of ``functions`` is a function whose arguments go to the
        program and whose result comes back as plain data; an exception of the program is
        raised there with the same built-in type. A mapping gives ``{name: expression}``
        (``{"candidate": "has_close_elements"}``). ``judge.status`` is OK when the test code
        ran to its end, RE when it raised; ``judge.message`` names the exception.
        """

    @abstractmethod
    def close(self) -> None:
        """End the workers and everything in them. Safe to call twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
