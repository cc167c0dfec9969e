"""Between the event loop and one engine: a bounded hand-over that never blocks the loop.

The engine takes items from threads and blocks when it has many; a loop must not. So only what
the engine gets done in ``AHEAD_S`` seconds is inside it, the others wait here in order, where a
caller who gives up takes them along. Rewards come back on the engine's threads; one wake-up of
the loop fetches all that have come since.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from cascade_rl.engine import Item
from cascade_rl.types import Reward

#: Far below what makes the engine block.
MOST_INSIDE = 512
#: Seconds of work that the engine is given in advance.
AHEAD_S = 0.1


class Engine(Protocol):
    """What is used of ``RewardEngine``."""

    def submit(self, item: Item) -> Future[Reward]:
        """Start scoring; the future never raises."""

    def close(self) -> None:
        """Stop; what is unanswered ends as an error."""


class _Batch:
    """Items that are answered together."""

    def __init__(self, count: int, future: asyncio.Future[list[Reward]]) -> None:
        self.rewards: list[Reward | None] = [None] * count
        self.missing, self.future = count, future

    def put(self, place: int, reward: Reward) -> None:
        self.rewards[place] = reward
        self.missing -= 1
        if not self.missing and not self.future.done():
            self.future.set_result([r for r in self.rewards if r is not None])


@dataclass(slots=True)
class _Job:
    item: Item
    batch: _Batch
    place: int


class Feeder:
    """Feeds one engine. All methods belong to the event loop's thread."""

    def __init__(self, engine: Engine, least_inside: int) -> None:
        self._engine = engine
        self._least = self._window = min(MOST_INSIDE, least_inside)
        self._since = time.monotonic()
        self._waiting: deque[_Job] = deque()
        self._done: deque[tuple[_Job, Reward]] = deque()
        self._inside = 0
        self._woken = False
        self._stopped = False
        self._loop = asyncio.get_running_loop()

    @property
    def unanswered(self) -> int:
        """Items that wait here or are inside the engine."""
        return len(self._waiting) + self._inside

    async def score(self, items: Sequence[Item]) -> list[Reward]:
        """Rewards in the order of the items. Cancelled, it forgets those that still wait."""
        if not items:
            return []
        batch = _Batch(len(items), self._loop.create_future())
        self._waiting.extend(_Job(item, batch, place) for place, item in enumerate(items))
        self._pump()
        return await batch.future

    async def stop(self) -> None:
        """Close the engine; what is unanswered is answered as not scored, at once."""
        if self._stopped:
            return
        self._stopped = True
        self._pump()
        await asyncio.to_thread(self._engine.close)
        self._fetch()

    def _pump(self) -> None:
        if not self._inside:
            self._since = time.monotonic()
        while self._waiting and (self._inside < self._window or self._stopped):
            job = self._waiting.popleft()
            if job.batch.future.done():  # nobody waits for it any more
                continue
            if self._stopped:
                job.batch.put(job.place, Reward.unscored("error", "the service is stopping"))
                continue
            self._inside += 1
            self._engine.submit(job.item).add_done_callback(
                lambda done, job=job: self._came(job, done.result())  # type: ignore[misc]
            )

    def _came(self, job: _Job, reward: Reward) -> None:
        """Any thread."""
        self._done.append((job, reward))
        if not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._fetch)

    def _fetch(self) -> None:
        self._woken = False
        before = self._inside
        while self._done:
            job, reward = self._done.popleft()
            self._inside -= 1
            job.batch.put(job.place, reward)
        self._measure(before - self._inside)
        self._pump()

    def _measure(self, count: int) -> None:
        now = time.monotonic()
        rate = count / max(1e-3, now - self._since)
        self._since = now
        window = int((self._window + rate * AHEAD_S) / 2)
        self._window = max(self._least, min(MOST_INSIDE, window))
