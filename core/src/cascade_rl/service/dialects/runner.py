"""Running a program for the routes that take programs: which pack does it, and how many at once."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from starlette.requests import Request

from cascade_rl.service.dialects.common import named_domain
from cascade_rl.service.problems import Overloaded, Refusal
from cascade_rl.service.programs import Program, ProgramRun, RunCode
from cascade_rl.service.scoring import Scoring

#: The name of a pack's function that runs programs.
FUNCTION = "run_code"
AT_ONCE = 8
#: Programs that may wait for a place.
WAITING = 1024


def find_runners(scoring: Scoring) -> dict[str, RunCode]:
    """The ``run_code`` of each served pack that has one, with its options if it takes them."""
    found: dict[str, RunCode] = {}
    for name, domain in scoring.domains.items():
        function: Callable[..., ProgramRun] | None = getattr(domain.plugin, FUNCTION, None)
        if callable(function):
            takes = "options" in inspect.signature(function).parameters
            found[name] = partial(function, options=domain.domain.options) if takes else function
    return found


class Runners:
    """Those of a service's domains that run programs, for the routes of one dialect."""

    def __init__(self, scoring: Scoring, overload: int) -> None:
        self._scoring = scoring
        self._found = {
            name: Runner(scoring, function, overload)
            for name, function in find_runners(scoring).items()
        }

    def __bool__(self) -> bool:
        return bool(self._found)

    def pick(self, request: Request) -> Runner:
        """The one that a request means; without a name the only one. Raises ``Refusal``."""
        name, able = named_domain(request), ", ".join(self._found)
        if name is None and len(self._found) == 1:
            return next(iter(self._found.values()))
        domain = self._scoring.pick(name).name
        if domain not in self._found:
            raise Refusal(404, "domain", f"domain {domain!r} runs no programs; these do: {able}")
        return self._found[domain]


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
