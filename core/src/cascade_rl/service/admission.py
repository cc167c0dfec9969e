"""How many samples a process holds at a time: the bound on its memory and on its latency."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cascade_rl.service.problems import Overloaded, Refusal, Stopping
from cascade_rl.service.settings import Limits

_POLL_S = 0.02


class Admission:
    """Counts samples in and out. Belongs to the event loop's thread."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.held = 0
        self.stopping = False

    @asynccontextmanager
    async def room_for(self, count: int, patience_s: float = 0.0) -> AsyncIterator[None]:
        """Hold ``count`` places while the body runs.

        ``patience_s``: how long to wait for room instead of refusing, for clients that do not
        try again. Raises ``Refusal`` 413, ``Overloaded`` or ``Stopping``.
        """
        if count > self._limits.batch_items:
            raise Refusal(
                413,
                "batch_too_large",
                f"{count} items in one request, the limit is {self._limits.batch_items}",
            )
        await self._wait_for(count, patience_s)
        self.held += count
        try:
            yield
        finally:
            self.held -= count

    async def _wait_for(self, count: int, patience_s: float) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + patience_s
        while True:
            if self.stopping:
                raise Stopping
            if self.held + count <= self._limits.queue_items:
                return
            if loop.time() >= until:
                raise Overloaded(self.held, self._limits.queue_items)
            await asyncio.sleep(_POLL_S)
