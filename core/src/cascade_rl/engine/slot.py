"""One worker process and the items it has been given."""

from __future__ import annotations

import json
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from cascade_rl.engine.verdict import Item
from cascade_rl.types import Reward
from cascade_rl.workers import WorkerProcess

#: Unread bytes that a socket surely holds: the parent must never block on a hung worker.
PREFETCH_BYTES = 32 * 1024
START_TIMEOUT_S = 60.0
#: How long past an async reward's own deadline its event loop may stay blocked.
ASYNC_GRACE_S = 1.0


@dataclass(eq=False)
class Job:
    """An item on its way to a reward. ``alone``: share the worker with no other item."""

    item: Item
    future: Future[Reward]
    alone: bool = False
    size: int = 0
    sent: float = 0.0

    def encode(self) -> dict[str, Any]:
        """The item as plain data; notes its size."""
        data = self.item.model_dump(mode="json")
        self.size = len(json.dumps(data))
        return data


@dataclass(eq=False)
class Slot:
    """The parent's book about one worker."""

    worker: WorkerProcess
    concurrency: int
    timeout_s: float
    ready: bool = False
    jobs: dict[int, Job] = field(default_factory=dict)
    since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.fd = self.worker.channel.fileno()  # still needed once the channel is closed

    def can_take(self, job: Job, prefetch: int) -> bool:
        """Whether a job may be sent without the risk of blocking or of unclear blame."""
        if not self.ready:
            return False
        if not self.jobs:
            return True
        if job.alone or any(j.alone for j in self.jobs.values()):
            return False
        if len(self.jobs) >= (self.concurrency if self.concurrency > 1 else prefetch):
            return False
        return sum(j.size for j in self.jobs.values()) + job.size < PREFETCH_BYTES

    def give(self, number: int, job: Job) -> None:
        """Send a job; raises ``WorkerDied``."""
        job.sent = time.monotonic()
        if not self.jobs:
            self.since = job.sent
        self.jobs[number] = job
        self.worker.send({"number": number, "item": job.encode()})

    def take(self, number: int) -> Job:
        """The job that an answer belongs to; the next one's clock starts."""
        self.since = time.monotonic()
        return self.jobs.pop(number)

    def deadline(self) -> float:
        """When the worker must be killed, on the monotonic clock."""
        if not self.ready:
            return self.since + START_TIMEOUT_S
        if not self.jobs:
            return float("inf")
        if self.concurrency == 1:
            return self.since + self.timeout_s
        first = min(job.sent for job in self.jobs.values())
        return first + self.timeout_s + ASYNC_GRACE_S

    def blamed(self) -> list[Job]:
        """The jobs that may have broken the worker: the first, or all that ran at once."""
        jobs = list(self.jobs.values())
        return jobs[:1] if self.concurrency == 1 else jobs
