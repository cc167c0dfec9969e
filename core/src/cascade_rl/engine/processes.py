"""The process executor: one thread watches all workers, kills late ones, replaces dead ones.

Each future gets one attempt's outcome; retrying is the engine's business. An innocent item
that waited in a killed worker is sent to another one and never sees the failure.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import Any

from cascade_rl.engine.slot import Job, Slot
from cascade_rl.engine.verdict import Item, timed_out
from cascade_rl.types import Reward
from cascade_rl.workers import WorkerDied, WorkerProcess

TARGET = "cascade_rl.engine.worker:serve"
MAX_FAILED_STARTS = 3


class ProcessExecutor:
    """``workers`` processes for one domain. Thread-safe; started when first used."""

    def __init__(
        self,
        domain: str,
        options: dict[str, Any],
        *,
        workers: int,
        timeout_s: float,
        concurrency: int,
    ) -> None:
        self._init = {
            "domain": domain,
            "options": options,
            "timeout_s": timeout_s,
            "concurrency": concurrency,
        }
        self._count, self._timeout_s, self._concurrency = workers, timeout_s, concurrency
        self._pending: deque[Job] = deque()
        self._slots: list[Slot] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._thread: threading.Thread | None = None
        self._closing = False
        self._failed_starts = 0
        self._start_failure = ""

    def submit(self, item: Item, alone: bool = False) -> Future[Reward]:
        """One attempt at an item; the future always ends with a ``Reward``."""
        future: Future[Reward] = Future()
        with self._lock:
            if self._closing:
                future.set_result(Reward.unscored("error", "the engine is closed"))
                return future
            self._pending.append(Job(item, future, alone))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="cascade-rl")
                self._thread.start()
        self._wake()
        return future

    def close(self) -> None:
        """Stop the workers; whatever is still unanswered ends as status "error"."""
        with self._lock:
            self._closing = True
        self._wake()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        for descriptor in (self._wake_read, self._wake_write):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # a full pipe wakes as well
            os.write(self._wake_write, b"x")

    def _run(self) -> None:
        try:
            self._watch()
        except Exception as error:  # nobody would ever answer: end every future instead
            self._start_failure = f"the engine's own fault: {type(error).__name__}: {error}"
            with self._lock:
                self._closing = True
        self._shut_down()

    def _watch(self) -> None:
        while not self._closing:
            self._start_workers()
            self._hand_out()
            for key, _ in self._selector.select(self._patience()):
                if key.data is None:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake_read, 4096)
                elif key.data in self._slots:
                    self._read(key.data)
            for slot in [s for s in self._slots if s.deadline() <= time.monotonic()]:
                self._replace(slot, timed_out(self._timeout_s))

    def _patience(self) -> float | None:
        nearest = min((s.deadline() for s in self._slots), default=float("inf"))
        return None if nearest == float("inf") else max(0.0, nearest - time.monotonic())

    def _start_workers(self) -> None:
        if self._failed_starts >= MAX_FAILED_STARTS:
            if not any(slot.ready for slot in self._slots):
                self._fail_pending()
            return
        idle = sum(1 for s in self._slots if not s.jobs)
        while len(self._slots) < self._count and idle < len(self._pending):
            worker = WorkerProcess(TARGET, self._init)
            slot = Slot(worker, self._concurrency, self._timeout_s)
            self._slots.append(slot)
            self._selector.register(slot.fd, selectors.EVENT_READ, slot)
            idle += 1

    def _hand_out(self) -> None:
        prefetch = 4 if len(self._pending) > 8 * self._count else 1
        while self._pending:
            job = self._pending[0]
            willing = [s for s in self._slots if s.can_take(job, prefetch)]
            if not willing:
                return
            self._pending.popleft()
            slot = min(willing, key=lambda s: len(s.jobs))
            try:
                slot.give(next(self._numbers), job)
            except WorkerDied as death:
                self._replace(slot, Reward.unscored("error", str(death)))

    def _read(self, slot: Slot) -> None:
        try:
            while slot.worker.channel.poll(0):
                message = slot.worker.receive(None)
                if "failed" in message:
                    self._start_failure = message["failed"]
                elif "ready" in message:
                    slot.ready, self._failed_starts = True, 0
                else:
                    job = slot.take(message["number"])
                    job.future.set_result(Reward.model_validate(message["reward"]))
        except (WorkerDied, EOFError, OSError) as death:
            self._replace(slot, Reward.unscored("error", str(death)))

    def _replace(self, slot: Slot, outcome: Reward) -> None:
        """Kill a worker; blame the item it was at, keep the others for the next worker."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(slot.fd)
        slot.worker.kill()
        self._slots.remove(slot)
        if not slot.ready:
            self._failed_starts += 1
            self._start_failure = self._start_failure or outcome.reason
        blamed = slot.blamed()
        innocent = [job for job in slot.jobs.values() if job not in blamed]
        self._pending.extendleft(reversed(innocent))
        for job in blamed:
            job.future.set_result(outcome)

    def _fail_pending(self) -> None:
        reason = f"no worker could be started: {self._start_failure}"
        while self._pending:
            self._pending.popleft().future.set_result(Reward.unscored("error", reason))

    def _shut_down(self) -> None:
        for slot in self._slots:
            with contextlib.suppress(KeyError, ValueError, OSError):
                self._selector.unregister(slot.fd)
            slot.worker.close() if slot.ready and not slot.jobs else slot.worker.kill()
        left = [job for slot in self._slots for job in slot.jobs.values()] + list(self._pending)
        self._slots, self._pending = [], deque()
        self._selector.close()
        reason = self._start_failure or "the engine was closed"
        for job in left:
            job.future.set_result(Reward.unscored("error", reason))
