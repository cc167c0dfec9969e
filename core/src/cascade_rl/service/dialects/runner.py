"""Running a program for the routes that take programs: which pack does it, and how many at once."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from cascade_rl.service.problems import Overloaded, Refusal
from cascade_rl.service.programs import Program, ProgramRun, RunCode
from cascade_rl.service.scoring import Scoring

#: The name of a pack's function that runs programs.
FUNCTION = "run_code"
AT_ONCE = 8
#: Programs that may wait for a place.
WAITING = 1024


def find_runner(scoring: Scoring) -> RunCode | None:
    """The ``run_code`` of the first served pack that has one, with its options if it takes them."""
    for domain in scoring.domains.values():
        function: Callable[..., ProgramRun] | None = getattr(domain.plugin, FUNCTION, None)
        if callable(function):
            if "options" in inspect.signature(function).parameters:
                return partial(function, options=domain.domain.options)
            return function
    return None


class Runner:
    """Runs programs on threads; the pack's sandbox keeps the limits."""

    def __init__(self, scoring: Scoring, function: RunCode, overload: int) -> None:
        self._scoring, self._function, self._overload = scoring, function, overload
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="cascade-run")
        self._held = 0

    async def run(self, program: Program) -> ProgramRun:
        """Run one program. Raises ``Overloaded`` with this dialect's code, or ``Refusal``."""
        if self._scoring.admission.stopping or self._held >= WAITING:
            raise Overloaded(self._held, WAITING, self._overload)
        self._held += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._function, program)
        except Refusal:
            raise
        except Exception as error:
            return ProgramRun(fault=f"{type(error).__name__}: {error}"[:500])
        finally:
            self._held -= 1
