"""The inline executor: scores in this process. Async rewards share one event loop.

It cannot stop a synchronous reward that hangs: only a process can be killed.
"""

from __future__ import annotations

import asyncio
import threading
import time

from cascade_rl.engine.attempt import Attempt, Task, Then, closed
from cascade_rl.engine.item import Item
from cascade_rl.engine.limits import Limits, Pace
from cascade_rl.engine.transient import next_due
from cascade_rl.engine.verdict import attempt_async, attempt_now, gold_item
from cascade_rl.errors import PackError
from cascade_rl.registry import Domain

CLOSE_GRACE_S = 5.0


class InlineExecutor:
    """Scores synchronous rewards at once, in the caller's thread. Thread-safe."""

    def __init__(self, domain: Domain, limits: Limits) -> None:
        self._domain, self._limits = domain, limits
        self._opened = self._closed = False
        self._lock = threading.Lock()
        self._pace = Pace(limits.rate_per_s)
        self._permits = threading.BoundedSemaphore(limits.concurrency)
        self._loop: _Loop | None = None

    def attempt(
        self,
        task: Task,
        then: Then,
        *,
        alone: bool = False,
        fresh: bool = False,
        gold: bool = False,
    ) -> None:
        """See ``Executor``. ``alone`` and ``fresh`` have no meaning in a single process."""
        del alone, fresh
        refusal = self._open()
        if refusal:
            then(refusal)
            return
        item = gold_item(self._domain, task.item) if gold else task.item
        if isinstance(item, Attempt):
            then(item)
        elif self._loop is not None:
            self._loop.begin(task, item, then)
        else:
            with self._permits:
                ended = self._tries(task, item)
            then(ended)

    def close(self) -> None:
        """Stop the event loop and let the pack clean up."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        if self._loop is not None:
            self._loop.close()
        if self._opened:
            self._domain.close()

    def _open(self) -> Attempt | None:
        with self._lock:
            if self._closed:
                return closed()
            if not self._opened:
                try:
                    self._domain.open()
                except PackError as error:
                    return closed(str(error))
                if self._domain.is_async:
                    self._loop = _Loop(self._domain, self._limits)
                self._opened = True
        return None

    def _tries(self, task: Task, item: Item) -> Attempt:
        tries = 0
        while True:
            if self._limits.rate_per_s:
                self._keep_pace()
            task.started = task.started or time.monotonic()
            attempt, tries = attempt_now(self._domain, item), tries + 1
            due = next_due(self._limits, task.started, tries, attempt)
            if due is None:
                return attempt
            time.sleep(max(0.0, due - time.monotonic()))

    def _keep_pace(self) -> None:
        with self._lock:
            now = time.monotonic()
            wait = self._pace.wait_s(now)
            self._pace.take(now)
        time.sleep(wait)


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self, domain: Domain, limits: Limits) -> None:
        self._domain, self._limits = domain, limits
        self._pace = Pace(limits.rate_per_s)
        self._permits = asyncio.Semaphore(limits.concurrency)
        self._running: dict[asyncio.Task[Attempt], Then] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def begin(self, task: Task, item: Item, then: Then) -> None:
        """Score one sample; from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._create, task, item, then)
        except RuntimeError:  # it was closed meanwhile
            then(closed())

    def close(self) -> None:
        """Cancel what runs, answer it, stop. A pack that blocks the loop is left behind."""
        asyncio.run_coroutine_threadsafe(self._cancel(), self._loop)
        if self._thread is not threading.current_thread():
            self._thread.join(CLOSE_GRACE_S)
        for then in list(self._running.values()):
            then(closed("the engine was closed"))
        if not self._thread.is_alive():
            self._loop.close()

    def _create(self, task: Task, item: Item, then: Then) -> None:
        running = self._loop.create_task(self._judge(task, item))
        self._running[running] = then
        running.add_done_callback(self._answer)

    def _answer(self, ended: asyncio.Task[Attempt]) -> None:
        then = self._running.pop(ended, None)
        if then is not None:
            then(closed("the engine was closed") if ended.cancelled() else ended.result())

    async def _judge(self, task: Task, item: Item) -> Attempt:
        tries = 0
        while True:
            async with self._permits:
                while wait := self._pace.wait_s(time.monotonic()):
                    await asyncio.sleep(wait)
                now = time.monotonic()
                self._pace.take(now)
                task.started = task.started or now
                left = task.started + self._limits.deadline_s - now
                limit_s = min(self._limits.timeout_s, left)
                attempt, tries = await attempt_async(self._domain, item, limit_s), tries + 1
            due = next_due(self._limits, task.started, tries, attempt)
            if due is None:
                return attempt
            await asyncio.sleep(due - time.monotonic())

    async def _cancel(self) -> None:
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_GRACE_S / 2)
        self._loop.stop()
