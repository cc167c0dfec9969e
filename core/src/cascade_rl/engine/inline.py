"""The inline executor: scores in this process. Async rewards share one event loop.

It cannot stop a synchronous reward that hangs: only a process can be killed.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

from cascade_rl.engine.verdict import Item, score_async, score_now
from cascade_rl.registry import Domain
from cascade_rl.types import Reward


class InlineExecutor:
    """Scores synchronous rewards at once, in the caller's thread."""

    def __init__(self, domain: Domain, *, timeout_s: float, concurrency: int) -> None:
        self._domain, self._timeout_s, self._concurrency = domain, timeout_s, concurrency
        self._opened = False
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._permits: asyncio.Semaphore | None = None

    def submit(self, item: Item, alone: bool = False) -> Future[Reward]:
        """One attempt at an item. ``alone`` has no meaning in a single process."""
        del alone
        self._open()
        if self._loop is not None:
            return asyncio.run_coroutine_threadsafe(self._limited(item), self._loop)
        future: Future[Reward] = Future()
        future.set_result(score_now(self._domain, item))
        return future

    def close(self) -> None:
        """Stop the event loop and let the pack clean up."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None
        if self._opened:
            self._domain.close()
            self._opened = False

    def _open(self) -> None:
        with self._lock:
            if self._opened:
                return
            self._domain.open()
            if self._concurrency > 1:
                self._loop = asyncio.new_event_loop()
                self._permits = asyncio.Semaphore(self._concurrency)
                self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
                self._thread.start()
            self._opened = True

    async def _limited(self, item: Item) -> Reward:
        assert self._permits is not None
        async with self._permits:
            return await score_async(self._domain, item, self._timeout_s)
