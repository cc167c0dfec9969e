"""Killable calls from any thread."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from cascade_rl.workers.process import CallFailed, WorkerProcess

START_TIMEOUT_S = 60.0


class CallPool:
    """At most ``size`` workers at once for one ``serve_calls`` target; started when needed.

    Thread-safe. A worker that exceeds a deadline is killed. ``reserve`` more are started ahead,
    so that the next call after a kill need not wait for a fresh interpreter.
    """

    def __init__(self, target: str, init: Any = None, size: int = 1, reserve: int = 0) -> None:
        self._target, self._init, self._reserve = target, init, reserve
        self._free = threading.BoundedSemaphore(size)
        self._guard = threading.Lock()
        self._started: deque[Future[WorkerProcess]] = deque()
        self._starter: ThreadPoolExecutor | None = None

    def call(self, payload: Any, timeout_s: float) -> Any:
        """Call the target's function; waiting for a worker's start or turn is not counted.

        Raises ``WorkerTimeout``, ``WorkerDied`` or ``CallFailed``.
        """
        with self._free:
            worker = self._take()
            try:
                answer = worker.call(payload, timeout_s)
            except CallFailed:
                self._give(worker)
                raise
            except BaseException:  # an answer may still be on its way: never reuse
                worker.kill()
                raise
            self._give(worker)
            return answer

    def warm(self) -> None:
        """Start a worker where none is, and wait for it."""
        with self._free:
            self._give(self._take())

    def close(self) -> None:
        """Stop the idle workers; the next call starts another."""
        with self._guard:
            started, self._started = list(self._started), deque()
            starter, self._starter = self._starter, None
        if starter is not None:
            starter.shutdown(wait=True)
        for future in started:
            if future.exception() is None:
                future.result().close()

    def _take(self) -> WorkerProcess:
        with self._guard:
            if self._starter is None:
                self._starter = ThreadPoolExecutor(1, thread_name_prefix="cascade-start")
            while len(self._started) < 1 + self._reserve:
                self._started.append(self._starter.submit(self._start))
            first = self._started.popleft()
        return first.result()

    def _give(self, worker: WorkerProcess) -> None:
        done: Future[WorkerProcess] = Future()
        done.set_result(worker)
        with self._guard:
            self._started.appendleft(done)

    def _start(self) -> WorkerProcess:
        worker = WorkerProcess(self._target, self._init)
        try:
            worker.call(None, START_TIMEOUT_S)
        except BaseException:
            worker.kill()
            raise
        return worker
