"""The worker processes of one executor: started when there is work, replaced when lost."""

from __future__ import annotations

import contextlib
import selectors
import threading
import time
from typing import Any

from cascade_rl.engine.counts import Counts
from cascade_rl.engine.slot import Slot
from cascade_rl.engine.waiting import Waiting
from cascade_rl.workers import WorkerProcess

TARGET = "cascade_rl.engine.scorer:serve"
MAX_FAILED_STARTS = 3
#: After so many in a row everything is answered as "error" for a while, then tried again.
COOL_DOWN_S = 10.0


class Crew:
    """At most ``size`` workers, each watched by the selector. The dispatcher's alone."""

    def __init__(
        self,
        init: dict[str, Any],
        size: int,
        capacity: int,
        selector: selectors.BaseSelector,
        counts: Counts,
    ) -> None:
        self._init, self._size, self._capacity = init, size, capacity
        self._selector, self._counts = selector, counts
        self.slots: list[Slot] = []
        self.failure = ""
        self._failed_starts, self._try_again_at = 0, 0.0

    @property
    def is_full(self) -> bool:
        """Whether no more workers may be started."""
        return len(self.slots) >= self._size

    @property
    def is_failing(self) -> bool:
        """Whether the last starts have all failed, so that none is tried for now."""
        return self._failed_starts >= MAX_FAILED_STARTS

    def start(self, waiting: Waiting) -> bool:
        """Start as many as there is work for; False: there is no worker, and will be none."""
        if self.is_failing:
            self._try_again_at = self._try_again_at or time.monotonic() + COOL_DOWN_S
            if time.monotonic() < self._try_again_at:
                return any(slot.ready for slot in self.slots)
            self._failed_starts, self._try_again_at = 0, 0.0
        wanted, wanted_fresh = len(waiting), sum(job.fresh for job in waiting.retries)
        idle = sum(not slot.jobs for slot in self.slots)
        fresh = sum(not slot.served for slot in self.slots)
        while not self.is_full and (idle < wanted or fresh < wanted_fresh):
            try:
                worker = WorkerProcess(TARGET, self._init)
            except OSError as error:  # out of processes or descriptors
                self._failed_starts, self.failure = self._failed_starts + 1, str(error)
                return True
            slot = Slot(worker, self._init["is_async"], self._capacity)
            self.slots.append(slot)
            self._selector.register(slot.fd, selectors.EVENT_READ, slot)
            self._counts.add("workers_started")
            idle, fresh = idle + 1, fresh + 1
        return True

    def came_up(self, slot: Slot, same_source: bool) -> None:
        """A worker has said that it is ready."""
        slot.ready, slot.same_source = True, same_source
        self._failed_starts, self.failure = 0, ""

    def kill(self, slot: Slot, why: str, reason: str) -> None:
        """Kill a worker and forget it."""
        self.forget(slot)
        slot.worker.kill()
        self._counts.add(f"workers_{why}")
        if not slot.ready:
            self._failed_starts += 1
            self.failure = self.failure or reason

    def retire(self, slot: Slot) -> None:
        """Let an idle worker end in order, without waiting for it."""
        self.forget(slot)
        threading.Thread(target=slot.worker.close, daemon=True).start()

    def forget(self, slot: Slot) -> None:
        """Watch a worker no longer."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(slot.fd)
        self.slots.remove(slot)

    def watch(self, slot: Slot) -> None:
        """Wait for room to write as long as something is unsent."""
        if slot.unsent != slot.watched:
            slot.watched = slot.unsent
            write = selectors.EVENT_WRITE if slot.unsent else 0
            self._selector.modify(slot.fd, selectors.EVENT_READ | write, slot)

    def dismiss(self) -> list[Slot]:
        """End all: the idle in order, the others at once. Returns them, with their jobs."""
        slots, self.slots = self.slots, []
        for slot in slots:
            slot.worker.hang_up() if slot.ready and not slot.jobs else slot.worker.kill()
        for slot in slots:
            slot.worker.close()
        return slots
