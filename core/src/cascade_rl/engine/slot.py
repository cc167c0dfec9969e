"""One worker process and the samples it has been given."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from cascade_rl.engine.attempt import Task, Then
from cascade_rl.workers import WorkerProcess
from cascade_rl.workers.lines import READ_SIZE, LineBuffer

#: Bytes of samples that may wait behind the first one in a worker.
PREFETCH_BYTES = 1 << 20
#: Seconds of work that may wait behind the first sample in a worker that judges one by one.
PREFETCH_S = 0.002
MAX_PREFETCH = 32
START_TIMEOUT_S = 60.0
#: How long past an async reward's own deadline its event loop may stay blocked.
ASYNC_GRACE_S = 1.0


@dataclass(eq=False, slots=True)
class Job:
    """One try at a sample; the flags are those of ``Executor.attempt``."""

    task: Task
    then: Then
    line: bytes
    alone: bool = False
    fresh: bool = False
    gold: bool = False
    tries: int = 0
    limit_s: float = 0.0
    sent: float = 0.0

    def message(self, number: int) -> bytes:
        """The line that asks a worker for this try."""
        gold = b"true" if self.gold else b"false"
        return b'{"number": %d, "limit_s": %r, "gold": %s}\t%s\n' % (
            number,
            self.limit_s,
            gold,
            self.line,
        )


@dataclass(eq=False)
class Slot:
    """The parent's book about one worker.

    ``capacity`` is how many samples the worker judges at once: 1, or more on an event loop.
    """

    worker: WorkerProcess
    is_async: bool
    capacity: int
    ready: bool = False
    same_source: bool = True
    jobs: dict[int, Job] = field(default_factory=dict)
    served: int = 0
    since: float = field(default_factory=time.monotonic)
    mean_s: float = 1.0  # of a sample, when they are judged one by one; slow until known
    watched: bool = False  # whether the dispatcher waits for room to write

    def __post_init__(self) -> None:
        self.fd = self.worker.channel.fileno()  # still needed once the channel is closed
        self._out = bytearray()
        self._lines = LineBuffer()
        self._waiting_bytes = 0
        os.set_blocking(self.fd, False)

    @property
    def unsent(self) -> bool:
        """Whether bytes wait until the worker reads."""
        return bool(self._out)

    def can_take(self, job: Job, eager: bool) -> bool:
        """Whether a job may be sent; ``eager``: to wait behind others, too."""
        if not self.ready:
            return False
        if not self.jobs:
            return not (job.fresh and self.served)
        if job.alone or self._waiting_bytes > PREFETCH_BYTES:
            return False
        if self.is_async:
            return len(self.jobs) < self.capacity and not self._holds_alone()
        return eager and len(self.jobs) < self._depth() and not self._holds_alone()

    def give(self, number: int, job: Job) -> None:
        """Take a job; ``flush`` sends it."""
        job.sent = time.monotonic()
        if not self.jobs:
            self.since = job.sent
        self.jobs[number] = job
        self.served += 1
        self._waiting_bytes += len(job.line)
        self._out += job.message(number)

    def flush(self) -> None:
        """Send what the worker's end has room for.

        A worker that has ended is noticed by ``read``, after the answers it still gave.
        """
        try:
            while self._out:
                del self._out[: os.write(self.fd, bytes(self._out[:READ_SIZE]))]
        except BlockingIOError:
            return
        except OSError:
            self._out.clear()

    def read(self) -> Iterator[bytes]:
        """The lines that have arrived; raises ``WorkerDied`` when the worker ended."""
        data = b""
        with contextlib.suppress(BlockingIOError):
            try:
                data = os.read(self.fd, READ_SIZE)
            except ConnectionResetError as error:
                raise self.worker.died() from error
            if not data:
                raise self.worker.died()
        yield from self._lines.feed(data)

    def take(self, number: int) -> Job:
        """The job that an answer belongs to; the next one's clock starts.

        Raises ``KeyError`` when the worker answers what it was not asked.
        """
        job = self.jobs.pop(number)
        now = time.monotonic()
        self.mean_s += 0.2 * (now - self.since - self.mean_s)
        self.since = now
        self._waiting_bytes -= len(job.line)
        return job

    def deadline(self) -> float:
        """When the worker must be killed, on the monotonic clock."""
        if not self.ready:
            return self.since + START_TIMEOUT_S
        if not self.jobs:
            return float("inf")
        if self.is_async:
            return min(job.sent + job.limit_s for job in self.jobs.values()) + ASYNC_GRACE_S
        return self.since + next(iter(self.jobs.values())).limit_s

    def limit_s(self) -> float:
        """The limit that ``deadline`` comes from, in seconds."""
        if not self.jobs:
            return float("inf")
        if self.is_async:
            return min(self.jobs.values(), key=lambda job: job.sent + job.limit_s).limit_s
        return next(iter(self.jobs.values())).limit_s

    def blamed(self) -> list[Job]:
        """The jobs that may have broken the worker: the first, or all that ran at once."""
        jobs = list(self.jobs.values())
        return jobs if self.is_async else jobs[:1]

    def _holds_alone(self) -> bool:
        return any(job.alone for job in self.jobs.values())

    def _depth(self) -> int:
        return min(MAX_PREFETCH, max(1, int(PREFETCH_S / max(self.mean_s, 1e-6))))
