"""The parent's side of the dear layers: one child at work, one in reserve.

A comparison that the cheap layers leave open is answered by a child process, which is killed
at the time limit; the reserve takes its place at once and another is started behind it. Its
start is not counted in the limit: ``warm`` (the ``open`` hook) takes it before the first
verdict. Waiting for another thread's comparison is not counted either.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from cascade_rl.workers import CallFailed, WorkerDied, WorkerProcess, WorkerTimeout
from cascade_rl_math.layers import Verdict
from cascade_rl_math.rules import Rules

#: Seconds that the dear layers may take over one comparison.
TIME_LIMIT_S = 0.5
_TARGET = "cascade_rl_math.symbolic:serve"
_START_S = 60.0


class _Children:
    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._guard = threading.Lock()
        self._started: deque[Future[WorkerProcess]] = deque()
        self._starter: ThreadPoolExecutor | None = None

    def call(self, payload: Any, time_limit_s: float) -> Any:
        """Raises ``WorkerTimeout``, ``WorkerDied`` or ``CallFailed``."""
        with self._one_at_a_time:
            worker = self._take()
            try:
                answer = worker.call(payload, time_limit_s)
            except CallFailed:
                self._give(worker)
                raise
            except BaseException:  # an answer may still be on its way: never reuse
                worker.kill()
                raise
            self._give(worker)
            return answer

    def warm(self) -> None:
        with self._one_at_a_time:
            self._give(self._take())

    def close(self) -> None:
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
            self._ahead(2)
            first = self._started.popleft()
        return first.result()

    def _give(self, worker: WorkerProcess) -> None:
        done: Future[WorkerProcess] = Future()
        done.set_result(worker)
        with self._guard:
            self._started.appendleft(done)

    def _ahead(self, count: int) -> None:
        if self._starter is None:
            self._starter = ThreadPoolExecutor(1, thread_name_prefix="cascade-math-start")
        while len(self._started) < count:
            self._started.append(self._starter.submit(_start))


def _start() -> WorkerProcess:
    worker = WorkerProcess(_TARGET)
    try:
        worker.call(None, _START_S)
    except BaseException:
        worker.kill()
        raise
    return worker


_children = _Children()


def ask(gold: str, answer: str, rules: Rules, time_limit_s: float) -> Verdict:
    """The verdict of the dear layers. A child that cannot start is raised."""
    try:
        decided = _children.call([gold, answer, list(rules)], time_limit_s)
    except WorkerTimeout:
        return Verdict(False, f"too_expensive: no result within {time_limit_s:g} s")
    except WorkerDied as error:
        return Verdict(False, f"too_expensive: {error}")
    except CallFailed as error:
        return Verdict(False, f"unparsed: {error}")
    return Verdict(decided["equal"], decided["layer"])


def warm() -> None:
    """Start the child where it is not running, and wait for it."""
    _children.warm()


def close() -> None:
    """Stop the children; the next comparison that needs one starts another."""
    _children.close()
