"""Watches one run: how much CPU, idle time and memory its whole tree used, and ends all of it.

CPU time decides a time limit, never the wall clock: under load a program needs more wall time
for the same work. Idleness is wall time in which the tree neither ran nor waited for a core,
which the scheduler's own statistics tell (``/proc/PID/task/TID/schedstat``: nanoseconds run,
nanoseconds waited on a run queue).
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any, NoReturn

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024
_CORES = os.cpu_count() or 1
_STARVED = 20.0  # times the limits, plus a minute: then the machine is at fault, not the program


class Watch:
    """One run of one child process and everything that it starts."""

    __slots__ = (
        "_cpu", "_looked", "_waited", "childless", "idle", "limits", "peak_kb", "pid", "pidfd",
        "reaped_cpu", "reason", "started", "status", "survivors",
    )  # fmt: skip

    def __init__(self, pid: int, limits: dict[str, Any]) -> None:
        self.pid, self.limits = pid, limits
        self.reason = ""
        self.status: int | None = None
        self.childless = False
        self.reaped_cpu = 0.0
        self.peak_kb = 0
        self.survivors = 0
        self.idle = 0.0
        self.pidfd = os.pidfd_open(pid)
        self.started = self._looked = time.monotonic()
        self._cpu = 0.0
        self._waited: dict[int, float] | None = None

    def pause_s(self) -> float:
        """Seconds until the tree has to be looked at again."""
        until_cpu: float = (self.limits["cpu_s"] - self._cpu) / _CORES
        return min(float(self.limits["poll_s"]), max(0.01, until_cpu))

    def wait(self, host: int) -> None:
        """Block until the child has ended by itself or was found over a limit.

        The guest ends too when the host hangs up on the channel.
        """
        both = (self.pidfd, host)  # the host says nothing during a run, unless it hangs up
        while not self.reason and self.status is None:
            ready = select.select(both, (), (), self.pause_s())[0]
            if host in ready:
                leave()
            if ready:
                return
            self.look()

    def look(self) -> None:
        """Measure the tree; ``reason`` says which limit it is over, if one."""
        self._reap_dead()
        cpu, waited, memory_kb = _measure_tree(self.limits["namespace"])
        now = time.monotonic()
        before, self._cpu = self._cpu, max(self._cpu, cpu + self.reaped_cpu)
        known = self._waited or {}
        queued = sum(max(0.0, s - known.get(pid, 0.0)) for pid, s in waited.items())
        self.idle += max(0.0, now - self._looked - (self._cpu - before) - queued)
        self._looked, self._waited = now, waited
        self.peak_kb = max(self.peak_kb, memory_kb)
        limits = self.limits
        most = limits["tree_kb"]  # None: a cgroup sees to it
        backstop = _STARVED * (limits["cpu_s"] + limits["wall_s"]) + 60
        checks = (
            ("cpu", self._cpu > limits["cpu_s"]),
            ("memory", most is not None and memory_kb > most),
            ("idle", self.idle > limits["wall_s"]),
            ("starved", now - self.started > backstop),
        )
        self.reason = next((name for name, over in checks if over), "")

    def finish(self) -> dict[str, Any]:
        """Kill and reap whatever is left of the tree, then report."""
        self._reap_dead()
        if not self.childless:
            self._end_all(kill_namespace if self.limits["namespace"] else kill_descendants)
        os.close(self.pidfd)
        status = self.status or 0
        return {
            "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
            "reason": self.reason,
            "cpu_s": self.reaped_cpu,
            "wall_s": time.monotonic() - self.started,
            "peak_kb": self.peak_kb,
            "survivors": self.survivors,
            "oom": False,
            "stopped": False,
        }

    def _end_all(self, kill: Callable[[], None]) -> None:
        ended_by_itself = self.status is not None
        while True:
            kill()
            try:
                self._note(*os.wait4(-1, 0))
            except ChildProcessError:
                return
            self.survivors += ended_by_itself

    def _reap_dead(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                self.childless = True
                return
            if not pid:
                return
            self._note(pid, status, usage)

    def _note(self, pid: int, status: int, usage: Any) -> None:
        self.reaped_cpu += usage.ru_utime + usage.ru_stime
        self.peak_kb = max(self.peak_kb, usage.ru_maxrss)
        if pid == self.pid:
            self.status = status


def kill_namespace() -> None:
    """As process 1 of a pid namespace, which nothing inside can kill: kill everything else."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def kill_descendants() -> None:
    """Without a namespace: kill whatever descends from us (orphans are adopted by us)."""
    for pid in _descendants(os.getpid()):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def leave() -> NoReturn:
    """End the guest because the host has hung up; nothing that it started may outlive it."""
    if os.getpid() != 1:  # else the kernel does that
        kill_descendants()
    os._exit(0)


def _descendants(root: int) -> list[int]:
    parents = {}
    for pid in _processes():
        fields = _stat(pid)
        if fields:
            parents[pid] = int(fields[1])
    found: set[int] = set()
    fresh = {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh and pid not in found}
        found |= fresh
    return sorted(found)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _measure_tree(namespace: bool) -> tuple[float, dict[int, float], int]:
    """CPU seconds, seconds waited for a core by process, and resident KiB of the tree.

    Every fork shares our own pages, so those are counted once. Pages that its processes share
    with each other otherwise are counted for each: a cgroup would not.
    """
    ours = os.getpid()
    members = [pid for pid in _processes() if pid != ours] if namespace else _descendants(ours)
    shared_kb = _resident(_stat(ours))
    cpu, waited, memory_kb = 0.0, {}, shared_kb
    for pid in members:
        fields = _stat(pid)
        if fields:
            ticks = sum(int(field) for field in fields[11:15]) / _TICKS
            ran, waited[pid] = _schedule(pid)
            cpu += max(ticks, ran)
            memory_kb += max(0, _resident(fields) - shared_kb)
    return cpu, waited, memory_kb


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third (state) on; none when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []


def resident_kb() -> int:
    """KiB of this process that are in memory now."""
    return _resident(_stat(os.getpid()))


def _resident(fields: list[str]) -> int:
    return int(fields[21]) * _PAGE_KB if fields else 0


def _schedule(pid: int) -> tuple[float, float]:
    """Seconds that the process' living threads ran, and waited for a core."""
    ran = waited = 0.0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as file:
                fields = file.read().split()
            ran += int(fields[0]) / 1e9
            waited += int(fields[1]) / 1e9
    except (OSError, IndexError):
        pass
    return ran, waited
