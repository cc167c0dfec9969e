"""The process executor: one thread watches all workers, kills late ones, replaces dead ones.

``then`` gets one try's outcome; a second try is the judge's business. An innocent sample
that waited in a killed worker is sent to another one and never sees the failure.
"""

from __future__ import annotations

import contextlib
import itertools
import selectors
import socket
import threading
import time
from typing import Any

from cascade_rl.engine.answer import Answer, read_answer
from cascade_rl.engine.attempt import Attempt, Task, Then, closed
from cascade_rl.engine.counts import Counts
from cascade_rl.engine.crew import Crew
from cascade_rl.engine.limits import Limits, Pace
from cascade_rl.engine.memory import MemoryWatch
from cascade_rl.engine.slot import START_TIMEOUT_S, Job, Slot
from cascade_rl.engine.transient import next_due
from cascade_rl.engine.verdict import timed_out
from cascade_rl.engine.waiting import Waiting
from cascade_rl.types import Reward
from cascade_rl.workers import WorkerDied

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class ProcessExecutor:
    """``workers`` processes for one domain. Thread-safe; started when first used.

    ``source`` is the pack's hash as a cache knows it: verdicts of a worker that loaded
    another source are marked as not storable.
    """

    def __init__(
        self,
        domain: str,
        options: dict[str, Any],
        limits: Limits,
        *,
        workers: int,
        is_async: bool,
        source: str | None = None,
        counts: Counts | None = None,
    ) -> None:
        init = {"domain": domain, "options": options, "is_async": is_async, "source": source}
        self._limits, self._is_async = limits, is_async
        self._counts = counts or Counts()
        self._pace = Pace(limits.rate_per_s)
        self._memory = MemoryWatch(limits.memory_mb) if limits.memory_mb else None
        self._waiting = Waiting()
        self._reserved: Slot | None = None
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._ear.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._ear, _READ)
        size = min(workers, limits.concurrency)
        capacity = -(-limits.concurrency // size) if is_async else 1
        self._crew = Crew(init, size, capacity, self._selector, self._counts)
        self._thread: threading.Thread | None = None
        self._closing = False
        self._own_fault = ""

    @property
    def _slots(self) -> list[Slot]:
        return self._crew.slots

    def attempt(
        self,
        task: Task,
        then: Then,
        *,
        alone: bool = False,
        fresh: bool = False,
        gold: bool = False,
    ) -> None:
        """See ``Executor``."""
        try:
            job = Job(task, then, task.line, alone, fresh, gold)
        except ValueError as error:
            reason = f"this sample cannot be sent to a worker: {error}"[:500]
            then(Attempt(Reward.unscored("error", reason), final=True))
            return
        wake = self._waiting.add(job)
        if wake is None:
            then(closed(self._own_fault or "the engine is closed"))
            return
        if self._thread is None:
            self._start_thread()
        if wake:
            self._wake()

    def close(self) -> None:
        """Stop the workers; whatever is still unanswered ends as status "error"."""
        self._waiting.close()
        with self._lock:
            if self._closing:
                return
            self._closing = True
        self._wake()
        if self._thread is None:
            self._shut_down()
        elif self._thread is not threading.current_thread():
            self._thread.join()
        self._bell.close()
        self._ear.close()

    def _start_thread(self) -> None:
        with self._lock:
            if self._thread is None and not self._closing:
                self._thread = threading.Thread(target=self._run, daemon=True, name="cascade")
                self._thread.start()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # a full buffer wakes as well
            self._bell.send(b"x")

    def _run(self) -> None:
        try:
            while not self._closing:
                self._turn()
        except Exception as error:  # nobody would ever answer: end every sample instead
            self._own_fault = f"the engine's own fault: {type(error).__name__}: {error}"
        self._shut_down()

    def _turn(self) -> None:
        self._waiting.look(time.monotonic())
        if not self._crew.start(self._waiting):
            self._fail_waiting()
        self._hand_out()
        patience = self._patience() if self._waiting.may_sleep() else 0.0
        for key, events in self._selector.select(patience):
            if key.data is None:
                with contextlib.suppress(BlockingIOError):
                    self._ear.recv(4096)
            elif key.data in self._slots:
                self._serve(key.data, events)
        self._waiting.awake()
        now = time.monotonic()
        for slot in [s for s in self._slots if s.deadline() <= now]:
            outcome = Reward.unscored("error", f"not ready within {START_TIMEOUT_S:g} s")
            self._replace(slot, timed_out(slot.limit_s()) if slot.ready else outcome, "late")
        if self._memory:
            for slot, size in self._memory.over(self._slots).items():
                self._replace(slot, self._memory.verdict(size), "over_memory")

    def _patience(self) -> float | None:
        """Seconds until something must be done without being asked; None: nothing."""
        if self._waiting and not self._slots:
            return 0.0  # a start has just failed
        now = time.monotonic()
        due = [slot.deadline() - now for slot in self._slots]
        due.append(self._waiting.due() - now)
        if self._waiting and (wait := self._pace.wait_s(now)):
            due.append(wait)
        if self._memory and self._slots:
            due.append(self._memory.next_look_s(self._slots))
        nearest = min(due, default=float("inf"))
        return None if nearest == float("inf") else max(0.0, nearest)

    def _hand_out(self) -> None:
        now = time.monotonic()
        pending = self._waiting.pending
        self._hand_out_retries()
        room = self._limits.concurrency - sum(len(s.jobs) for s in self._slots)
        eager = self._limits.rate_per_s is None
        touched: set[Slot] = set()
        while pending and (room > 0 or not self._is_async) and not self._pace.wait_s(now):
            job = pending[0]
            willing = [s for s in self._slots if s is not self._reserved and s.can_take(job, eager)]
            if not willing:
                break
            slot = min(willing, key=lambda s: len(s.jobs))
            pending.popleft()
            if self._give(slot, job):
                touched.add(slot)
            room -= 1
        for slot in touched:
            self._flush(slot)

    def _hand_out_retries(self) -> None:
        """Second tries go first; one worker is kept free for them when none is."""
        retries = self._waiting.retries
        while retries and not self._pace.wait_s(time.monotonic()):
            job = retries[0]
            job.fresh = job.fresh and not self._crew.is_failing
            slot = next((s for s in self._slots if not s.jobs and s.can_take(job, False)), None)
            if slot is None:
                self._reserve(job)
                return
            self._reserved = None
            retries.popleft()
            if self._give(slot, job):
                self._flush(slot)
        if not retries:
            self._reserved = None

    def _reserve(self, job: Job) -> None:
        if self._reserved not in self._slots:
            free = [s for s in self._slots if not (job.fresh and s.served)] or self._slots
            self._reserved = min(free, key=lambda s: len(s.jobs), default=None)
        slot = self._reserved
        used = slot is not None and slot.ready and slot.served and not slot.jobs
        if slot and used and job.fresh and self._crew.is_full:
            self._crew.retire(slot)  # makes room for a worker that has judged nothing yet
            self._crew.start(self._waiting)

    def _give(self, slot: Slot, job: Job) -> bool:
        now = time.monotonic()
        task = job.task
        if task.started is None:
            task.started = now
        job.limit_s = self._limits.timeout_s
        if not job.gold:
            job.limit_s = min(job.limit_s, task.started + self._limits.deadline_s - now)
        if job.limit_s <= 0:
            reward = Reward.unscored("timeout", f"no verdict within {self._limits.deadline_s:g} s")
            job.then(Attempt(reward, final=True, storable=False))
            return False
        self._pace.take(now)
        slot.give(next(self._numbers), job)
        return True

    def _flush(self, slot: Slot) -> None:
        slot.flush()
        self._crew.watch(slot)

    def _serve(self, slot: Slot, events: int) -> None:
        if events & _WRITE:
            self._flush(slot)
        if not events & _READ:
            return
        try:
            for line in slot.read():
                self._heard(slot, read_answer(line))
        except WorkerDied as death:
            self._replace(slot, Reward.unscored("error", str(death)), "died", death.outside)
        except (ValueError, KeyError) as error:
            reason = f"its worker's connection holds what is no answer: {error!r}"[:500]
            self._replace(slot, Reward.unscored("error", reason), "died")

    def _heard(self, slot: Slot, answer: Answer) -> None:
        if answer.failed is not None:
            self._crew.failure = answer.failed
        elif answer.attempt is None:
            self._crew.came_up(slot, answer.same_source)
        else:
            job = slot.take(answer.number)
            job.tries += 1
            answer.attempt.storable = answer.attempt.storable and slot.same_source
            started = job.task.started or 0.0
            due = next_due(self._limits, started, job.tries, answer.attempt)
            if due is None:
                job.then(answer.attempt)
            else:
                self._counts.add("transient_faults")
                self._waiting.put_later(job, due)

    def _replace(self, slot: Slot, outcome: Reward, why: str, outside: bool = False) -> None:
        """Kill a worker; blame the sample it was at, keep the others for the next worker."""
        self._crew.kill(slot, why, outcome.reason)
        blamed = slot.blamed()
        self._waiting.put_back(j for j in slot.jobs.values() if j not in blamed)
        for job in blamed:
            job.then(Attempt(outcome, lost=True, outside=outside, storable=False))

    def _fail_waiting(self) -> None:
        reason = f"no worker could be started: {self._crew.failure}"
        for job in self._waiting.drain():
            job.then(closed(reason))

    def _shut_down(self) -> None:
        self._waiting.close()
        slots = self._crew.dismiss()
        left = [job for slot in slots for job in slot.jobs.values()] + self._waiting.drain()
        self._selector.close()
        for job in left:
            with contextlib.suppress(Exception):  # each of them must be called
                job.then(closed(self._own_fault or "the engine was closed"))
