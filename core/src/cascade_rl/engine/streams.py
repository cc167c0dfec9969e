"""Many samples through one engine: in order or as they finish, from a thread or a coroutine.

All hold a bounded number of unanswered or undelivered samples, however many are given.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from cascade_rl.engine.item import Item
from cascade_rl.types import Reward

WINDOW = 2048
#: How many samples are taken from a plain iterable before other coroutines get a turn.
TURN = 32
T = TypeVar("T")


class Submits(Protocol):
    """What is used of ``RewardEngine``."""

    def submit(self, item: Item) -> Future[Reward]:
        """Start one sample; blocks while there is no room."""

    async def submit_async(self, item: Item) -> Future[Reward]:
        """Start one sample; waits while there is no room."""


def in_order(
    engine: Submits, items: Iterable[tuple[Any, Item | Reward]]
) -> Iterator[tuple[Any, Reward]]:
    """See ``RewardEngine.in_order``."""
    waiting: deque[tuple[Any, Future[Reward] | Reward]] = deque()
    for key, item in items:
        waiting.append((key, engine.submit(item) if isinstance(item, Item) else item))
        while waiting and (len(waiting) >= WINDOW or _is_done(waiting[0][1])):
            yield _result(waiting.popleft())
    while waiting:
        yield _result(waiting.popleft())


def as_finished(engine: Submits, items: Iterable[tuple[Any, Item]]) -> Iterator[tuple[Any, Reward]]:
    """See ``RewardEngine.stream``."""
    finished: SimpleQueue[tuple[Any, Reward]] = SimpleQueue()
    inside = 0
    for key, item in items:
        engine.submit(item).add_done_callback(
            lambda done, key=key: finished.put((key, done.result()))  # type: ignore[misc]
        )
        inside += 1
        while inside >= WINDOW or not finished.empty():
            yield finished.get()
            inside -= 1
    for _ in range(inside):
        yield finished.get()


async def as_finished_async(
    engine: Submits, items: Iterable[tuple[Any, Item]] | AsyncIterable[tuple[Any, Item]]
) -> AsyncIterator[tuple[Any, Reward]]:
    """See ``RewardEngine.astream``."""
    arrivals = _Arrivals(asyncio.get_running_loop())
    places = asyncio.Semaphore(WINDOW)

    async def feed() -> int:
        count = 0
        async for key, item in _each(items):
            await places.acquire()
            future = await engine.submit_async(item)
            future.add_done_callback(
                lambda done, key=key: arrivals.put((key, done.result()))  # type: ignore[misc]
            )
            count += 1
        return count

    feeder = asyncio.create_task(feed())
    feeder.add_done_callback(lambda _: arrivals.wake())
    given = 0
    try:
        while not (feeder.done() and feeder.result() == given):
            for arrival in await arrivals.take():
                given += 1
                places.release()
                yield arrival
    finally:
        feeder.cancel()


async def score_in_order(
    engine: Submits, items: Iterable[Item] | AsyncIterable[Item]
) -> list[Reward]:
    """See ``RewardEngine.ascore``."""

    async def numbered() -> AsyncIterator[tuple[int, Item]]:
        number = 0
        async for item in _each(items):
            yield number, item
            number += 1

    found = {number: reward async for number, reward in as_finished_async(engine, numbered())}
    return [found[number] for number in range(len(found))]


class _Arrivals:
    """From the engine's threads to one coroutine, with one wake-up for many arrivals."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._event = loop, asyncio.Event()
        self._entries: deque[tuple[Any, Reward]] = deque()
        self._woken = False

    def put(self, entry: tuple[Any, Reward]) -> None:
        """From any thread."""
        self._entries.append(entry)
        if not self._woken:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self.wake)
            except RuntimeError:  # the loop is gone, and whoever wanted the reward with it
                return

    def wake(self) -> None:
        """From the loop."""
        self._woken = False
        self._event.set()

    async def take(self) -> list[tuple[Any, Reward]]:
        """What has arrived; waits for the next wake-up first."""
        await self._event.wait()
        self._event.clear()
        return [self._entries.popleft() for _ in range(len(self._entries))]


async def _each(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
        return
    for number, item in enumerate(items, 1):
        yield item
        if number % TURN == 0:
            await asyncio.sleep(0)


def _is_done(answer: Future[Reward] | Reward) -> bool:
    return isinstance(answer, Reward) or answer.done()


def _result(entry: tuple[Any, Future[Reward] | Reward]) -> tuple[Any, Reward]:
    key, answer = entry
    return key, answer if isinstance(answer, Reward) else answer.result()
