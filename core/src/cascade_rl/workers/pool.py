"""Killable calls from any thread."""

from __future__ import annotations

import threading
from typing import Any

from cascade_rl.workers.process import CallFailed, WorkerProcess


class CallPool:
    """At most ``size`` warm workers for one ``serve_calls`` target; started when first needed.

    Thread-safe. A worker that exceeds a deadline is killed and a fresh one takes its place.
    """

    def __init__(self, target: str, init: Any = None, size: int = 1) -> None:
        self._target, self._init = target, init
        self._free = threading.BoundedSemaphore(size)
        self._idle: list[WorkerProcess] = []
        self._lock = threading.Lock()

    def call(self, payload: Any, timeout_s: float, start_timeout_s: float = 30.0) -> Any:
        """Call the target's function; the deadline does not count a worker's start.

        Raises ``WorkerTimeout``, ``WorkerDied`` or ``CallFailed``.
        """
        with self._free:
            worker = self._take(start_timeout_s)
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

    def close(self) -> None:
        """Stop the idle workers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def _take(self, start_timeout_s: float) -> WorkerProcess:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        worker = WorkerProcess(self._target, self._init)
        try:
            worker.call(None, start_timeout_s)
        except BaseException:
            worker.kill()
            raise
        return worker

    def _give(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._idle.append(worker)
