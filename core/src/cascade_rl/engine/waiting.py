"""The samples that no worker has yet, and when the dispatcher must be woken for a new one."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from collections.abc import Iterable

from cascade_rl.engine.slot import Job


class Waiting:
    """Three queues: first tries, second tries (which go first), and tries after a pause.

    Any thread may ``add``; all else is the dispatcher's.
    """

    def __init__(self) -> None:
        self.pending: deque[Job] = deque()
        self.retries: deque[Job] = deque()
        self._later: list[tuple[float, int, Job]] = []
        self._order = itertools.count()
        self._lock = threading.Lock()
        self._news = self._asleep = self._hungry = self._closed = False

    def __len__(self) -> int:
        """Those that could be handed out now."""
        return len(self.pending) + len(self.retries)

    def add(self, job: Job) -> bool | None:
        """Whether the dispatcher must be woken; None: closed, and the job is not taken.

        It sleeps through jobs that it could not hand out anyway, being out of free workers.
        """
        with self._lock:
            if self._closed:
                return None
            (self.retries if job.alone else self.pending).append(job)
            self._news = True
            wake = self._asleep and (self._hungry or job.alone)
            self._asleep = self._asleep and not wake
            return wake

    def look(self, now: float) -> None:
        """The dispatcher looks at everything that is here; what comes later is news."""
        with self._lock:
            self._news = False
        while self._later and self._later[0][0] <= now:
            self.pending.appendleft(heapq.heappop(self._later)[2])

    def may_sleep(self) -> bool:
        """Whether nothing has come since ``look``; if so, ``add`` asks for a wake-up."""
        with self._lock:
            self._hungry, self._asleep = not self.pending, not self._news
            return self._asleep

    def awake(self) -> None:
        """No wake-up is needed until the next ``may_sleep``."""
        self._asleep = False

    def put_back(self, jobs: Iterable[Job]) -> None:
        """Innocent jobs of a lost worker: first in the queue again."""
        self.pending.extendleft(reversed(list(jobs)))

    def put_later(self, job: Job, due: float) -> None:
        """Hold a job until ``due`` (monotonic clock)."""
        heapq.heappush(self._later, (due, next(self._order), job))

    def due(self) -> float:
        """When the first held job is due (monotonic clock)."""
        return self._later[0][0] if self._later else float("inf")

    def close(self) -> None:
        """Take no more jobs."""
        with self._lock:
            self._closed = True

    def drain(self) -> list[Job]:
        """Every job, taken out."""
        with self._lock:
            jobs = [*self.retries, *self.pending, *(job for _, _, job in self._later)]
            self.retries, self.pending, self._later = deque(), deque(), []
        return jobs
