"""``RewardClient``: the calls of ``RewardEngine``, answered by a service, from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any, Self, TypeVar

from cascade_rl.client.asynchronous import AsyncRewardClient
from cascade_rl.client.faults import ServiceRefused
from cascade_rl.engine import Item
from cascade_rl.engine.room import Room
from cascade_rl.engine.streams import as_finished, as_finished_async, in_order, score_in_order
from cascade_rl.types import Reward

MAX_PENDING = 4096
T = TypeVar("T")


class RewardClient:
    """Scores completions of one domain on a reward service, with ``RewardEngine``'s calls.

    The arguments are those of ``AsyncRewardClient``, which runs here on a loop of its own.
    A future ends with a ``Reward`` and never raises. Where the service refuses this client
    (token, domain, options), its samples are unscored, and the next call, or the end of this
    one, raises ``ServiceRefused``.
    """

    def __init__(
        self, url: str, domain: str, options: dict[str, Any] | None = None, **settings: Any
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, daemon=True, name="cascade-client"
        )
        self._thread.start()
        self._room = Room(MAX_PENDING)
        self._incoming: deque[tuple[Item, Future[Reward]]] = deque()
        self._woken = False
        self._closed = False
        self._refusal: ServiceRefused | None = None
        try:
            self._client = self._run(_make(url, domain, options, settings))
        except BaseException:
            self._end()
            raise

    def submit(self, item: Item) -> Future[Reward]:
        """Start scoring one item; blocks while ``MAX_PENDING`` items are unanswered."""
        self._check()
        self._room.enter()
        return self._begin(item)

    async def submit_async(self, item: Item) -> Future[Reward]:
        """``submit`` for a coroutine: the event loop goes on while there is no room."""
        self._check()
        await self._room.enter_async()
        return self._begin(item)

    def score(self, items: Iterable[Item]) -> list[Reward]:
        """Rewards in the order of the items."""
        return [reward for _, reward in self.in_order((None, item) for item in items)]

    def in_order(self, items: Iterable[tuple[Any, Item | Reward]]) -> Iterator[tuple[Any, Reward]]:
        """(key, reward) in the order asked, in bounded memory; a ``Reward`` keeps its place."""
        yield from in_order(self, items)
        self._check()

    def stream(self, items: Iterable[tuple[Any, Item]]) -> Iterator[tuple[Any, Reward]]:
        """(key, reward) as rewards come, in bounded memory."""
        yield from as_finished(self, items)
        self._check()

    async def astream(
        self, items: Iterable[tuple[Any, Item]] | AsyncIterable[tuple[Any, Item]]
    ) -> AsyncIterator[tuple[Any, Reward]]:
        """``async for key, reward``, as rewards come, in bounded memory."""
        async for entry in as_finished_async(self, items):
            yield entry
        self._check()

    async def ascore(self, items: Iterable[Item] | AsyncIterable[Item]) -> list[Reward]:
        """Rewards in the order of the items; the event loop goes on meanwhile."""
        rewards = await score_in_order(self, items)
        self._check()
        return rewards

    def close(self) -> None:
        """Wait for what is unanswered, then stop."""
        if self._closed:
            return
        self._closed = True
        self._run(self._finish())
        self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self) -> None:
        if self._refusal is not None:
            raise self._refusal
        if self._closed:
            raise RuntimeError("the client is closed")

    def _begin(self, item: Item) -> Future[Reward]:
        future: Future[Reward] = Future()
        future.set_running_or_notify_cancel()  # a cancelled future could not take its reward
        future.add_done_callback(lambda _: self._room.leave())
        self._incoming.append((item, future))
        if not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._take)
        return future

    def _take(self) -> None:
        """In the loop: hand on what other threads have submitted since the last time."""
        self._woken = False
        while self._incoming:
            item, future = self._incoming.popleft()
            self._client.submit(item).add_done_callback(partial(self._answer, future))

    def _answer(self, future: Future[Reward], done: asyncio.Future[Reward]) -> None:
        error = done.exception()
        if error is None:
            future.set_result(done.result())
            return
        if isinstance(error, ServiceRefused):
            self._refusal = error
        future.set_result(Reward.unscored("error", f"{type(error).__name__}: {error}"[:500]))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _finish(self) -> None:
        self._take()
        await self._client.close()


async def _make(
    url: str, domain: str, options: dict[str, Any] | None, settings: dict[str, Any]
) -> AsyncRewardClient:
    return AsyncRewardClient(url, domain, options, **settings)
