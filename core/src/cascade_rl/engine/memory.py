"""How much memory a worker and all that it started use, and which workers use too much.

Watched from outside, in /proc. A resource limit would be the kernel's own, but each measures
something else: RLIMIT_AS counts address space, which thread stacks, arenas and torch reserve
by the gigabyte and never touch; RLIMIT_RSS does nothing on Linux; and both hold per process,
so that ten children have ten times the limit. A failed allocation is also raised inside the
pack, where an ``except`` may swallow it; a kill is final. The price: between two looks a
worker can overshoot (docs/engine.md has the figure).
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from cascade_rl.engine.slot import Slot
from cascade_rl.types import Reward

LOOK_EVERY_S = 0.02
#: The share of the time that reading about all of the machine's processes may take.
SCAN_SHARE = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")


class MemoryWatch:
    """Looks at the workers every ``LOOK_EVERY_S`` seconds while they work.

    What they have started is found by its session (each worker leads one), which takes a look
    at every process of the machine: done as often as ``SCAN_SHARE`` allows.
    """

    def __init__(self, limit_mb: int) -> None:
        self._limit_mb = limit_mb
        self._next_look = self._next_scan = 0.0

    def next_look_s(self, slots: Iterable[Slot]) -> float:
        """Seconds until the next look; infinite while every worker rests."""
        busy = any(slot.jobs or not slot.ready for slot in slots)
        return max(0.0, self._next_look - time.monotonic()) if busy else float("inf")

    def over(self, slots: Sequence[Slot]) -> dict[Slot, int]:
        """The workers above the limit, with the bytes that each had; {} between two looks."""
        now = time.monotonic()
        if now < self._next_look:
            return {}
        self._next_look = now + LOOK_EVERY_S
        limit = self._limit_mb * 1_000_000
        sizes = {slot: resident_bytes(slot.worker.pid) for slot in slots}
        found = {slot: size for slot, size in sizes.items() if size > limit}
        if now >= self._next_scan:
            members = sessions()
            self._next_scan = now + (time.monotonic() - now) / SCAN_SHARE
            for slot in slots:
                pids = members.get(slot.worker.pid, [])
                # What a fork shares counts once: the slower figure is taken only if it matters.
                big = len(pids) > 1 and sum(map(resident_bytes, pids)) > limit
                if big and slot not in found:
                    size = sum(map(proportional_bytes, pids))
                    found |= {slot: size} if size > limit else {}
        return found

    def verdict(self, size: int) -> Reward:
        """The reward of a sample over which a worker was killed when it had ``size`` bytes."""
        had = f"it had {size // 1_000_000} when it was stopped"
        return Reward.unscored("error", f"needs more than {self._limit_mb} MB of memory, {had}")


def resident_bytes(pid: int) -> int:
    """The memory that a process has in use; 0 when there is no such process."""
    try:
        return int(_read(f"/proc/{pid}/statm").split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def proportional_bytes(pid: int) -> int:
    """The same with shared pages divided among those who share them."""
    try:
        lines = _read(f"/proc/{pid}/smaps_rollup").splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:"))
    except OSError:
        return resident_bytes(pid)


def sessions() -> dict[int, list[int]]:
    """The processes of each session of this machine."""
    members: dict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are enough, and there are many
        if name.isdigit():
            try:
                after_name = _read(f"/proc/{name}/stat").rpartition(b")")[2].split()
            except OSError:  # it has ended
                continue
            members[int(after_name[3])].append(int(name))
    return members


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)
