"""What a sample may cost, how many run at once, and when a failed one is tried again."""

from __future__ import annotations

import sys
from typing import Any

from pydantic import Field

from cascade_rl.errors import EngineError
from cascade_rl.registry import Domain
from cascade_rl.types import Record

ASYNC_CONCURRENCY = 64  # a worker; a total that the pack or the caller states goes before it
#: How late the dispatcher may be without the rate falling below what was asked for.
CATCH_UP_S = 0.1


class Limits(Record):
    """The limits of one engine; seconds and megabytes (10⁶ bytes).

    ``blame``: a completion that breaks the verifier twice while the gold passes is wrong.
    ``stated``: concurrency or rate is somebody's word, and so holds for all nodes together.
    """

    timeout_s: float = Field(default=30.0, gt=0)
    deadline_s: float = Field(gt=0)
    memory_mb: int | None = Field(default=None, gt=0)
    concurrency: int = Field(ge=1)
    rate_per_s: float | None = Field(default=None, gt=0)
    tries: int = Field(default=5, ge=1)
    blame: bool = True
    stated: bool = False

    @classmethod
    def of(
        cls,
        domain: Domain,
        *,
        workers: int,
        timeout_s: float,
        deadline_s: float | None,
        memory_mb: int | None,
        concurrency: int | None,
        rate_per_s: float | None,
        blame: bool,
    ) -> Limits:
        """The caller's word before the pack's, the pack's before the defaults.

        Raises ``EngineError``, or ``ValueError`` on a number out of its range.
        """
        if memory_mb is not None and not sys.platform.startswith("linux"):
            raise EngineError("memory_mb needs /proc, which only Linux has; leave it out here")
        if memory_mb is not None and not workers:
            raise EngineError("memory_mb needs worker processes; set workers to 1 or more")
        declared = domain.declared
        default = (
            workers if workers and not domain.is_async else max(1, workers) * ASYNC_CONCURRENCY
        )
        stated = (concurrency, declared.concurrency, rate_per_s, declared.rate_per_s)
        return cls(
            timeout_s=timeout_s,
            deadline_s=10 * timeout_s + 60 if deadline_s is None else deadline_s,
            memory_mb=memory_mb,
            blame=blame,
            concurrency=_first(concurrency, declared.concurrency, default),
            rate_per_s=_first(rate_per_s, declared.rate_per_s),
            stated=any(v is not None for v in stated),
        )

    def share(self, among: int) -> Limits:
        """One node's part of what holds for the whole domain."""
        if among <= 1:
            return self
        rate = self.rate_per_s and self.rate_per_s / among
        concurrency = max(1, self.concurrency // among)
        return self.model_copy(update={"concurrency": concurrency, "rate_per_s": rate})


class Pace:
    """At most ``rate_per_s`` starts a second, evenly spaced; None: no limit. Not thread-safe."""

    def __init__(self, rate_per_s: float | None) -> None:
        self._gap = 1 / rate_per_s if rate_per_s else 0.0
        self._next = 0.0

    def wait_s(self, now: float) -> float:
        """Seconds until the next start is allowed."""
        return max(0.0, self._next - now) if self._gap else 0.0

    def take(self, now: float) -> None:
        """Note a start."""
        self._next = max(self._next, now - CATCH_UP_S) + self._gap


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
