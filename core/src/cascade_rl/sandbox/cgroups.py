"""Control groups, version 1 and 2: the memory and process limits that hold for a whole tree.

Used where this process may make one: root, or an ordinary user to whom a cgroup v2 subtree
was delegated. Elsewhere the guest measures memory itself.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PREFIX = "cascade-rl-"
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Hierarchy:
    """Where a cgroup can be made: one folder for each controller (the same one in v2)."""

    version: int
    memory: Path
    pids: Path | None


@cache
def find_hierarchy(
    mounts: Path = Path("/proc/self/mountinfo"), own: Path = Path("/proc/self/cgroup")
) -> Hierarchy | None:
    """The hierarchy in which this process may limit memory, if there is one."""
    try:
        mounted, places = mounts.read_text(), own.read_text()
    except OSError:
        return None
    return _version_2(mounted, places) or _version_1(mounted, places)


def _mount_points(mounted: str, kind: str) -> list[tuple[Path, str, str]]:
    """(mount point, root within the file system, super options) of a file system type."""
    found = []
    for line in mounted.splitlines():
        left, _, right = line.partition(" - ")
        fields, more = left.split(), right.split()
        if more and more[0] == kind:
            found.append((Path(fields[4]), fields[3], more[2] if len(more) > 2 else ""))
    return found


def _version_2(mounted: str, places: str) -> Hierarchy | None:
    own = next((line[3:] for line in places.splitlines() if line.startswith("0::")), None)
    for point, root, _ in _mount_points(mounted, "cgroup2"):
        if own is None:
            continue
        folder = _inside(point, root, own)
        # A cgroup with processes cannot limit its children, so a parent of ours is the place.
        for candidate in (folder, *folder.parents):
            if not candidate.is_relative_to(point):
                break
            with contextlib.suppress(OSError):
                enabled = (candidate / "cgroup.subtree_control").read_text().split()
                if {"memory", "pids"} <= set(enabled) and _can_make(candidate):
                    return Hierarchy(2, candidate, candidate)
    return None


def _version_1(mounted: str, places: str) -> Hierarchy | None:
    folders: dict[str, Path] = {}
    for line in places.splitlines():
        _, controllers, own = line.split(":", 2)
        for point, root, options in _mount_points(mounted, "cgroup"):
            for controller in set(controllers.split(",")) & set(options.split(",")):
                folder = _inside(point, root, own)
                folders[controller] = folder if folder.is_dir() else point
    memory, pids = folders.get("memory"), folders.get("pids")
    if memory is None or not _can_make(memory):
        return None
    return Hierarchy(1, memory, pids if pids is not None and _can_make(pids) else None)


def _inside(point: Path, root: str, own: str) -> Path:
    return point / own.removeprefix(root).lstrip("/")


def _can_make(folder: Path) -> bool:
    probe = folder / f"{_owner_prefix()}probe-{next(_NUMBERS)}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return False
    return os.access(folder / "cgroup.procs", os.W_OK)


class Cgroup:
    """One cgroup of ours, for one guest."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        _sweep(hierarchy)
        name = f"{_owner_prefix()}{next(_NUMBERS)}"
        self.version = hierarchy.version
        self.memory = hierarchy.memory / name
        self.pids = hierarchy.pids / name if hierarchy.pids else None
        self._limits: tuple[int, int] | None = None
        for folder in self._folders():
            folder.mkdir(exist_ok=True)

    @property
    def procs_files(self) -> list[str]:
        """The files into which a process writes "0" to join."""
        return [str(folder / "cgroup.procs") for folder in self._folders()]

    @property
    def oom_file(self) -> Path:
        """The file with an ``oom_kill`` count."""
        return self.memory / ("memory.oom_control" if self.version == 1 else "memory.events")

    def limit(self, memory_bytes: int, processes: int) -> None:
        """Set the limits of everything in it; raises ``OSError``."""
        if self._limits == (memory_bytes, processes):
            return
        if self.version == 1:
            self._limit_memory_1(memory_bytes)
        else:
            (self.memory / "memory.max").write_text(str(memory_bytes))
            with contextlib.suppress(OSError):  # no swap in this kernel
                (self.memory / "memory.swap.max").write_text("0")
        if self.pids is not None:
            (self.pids / "pids.max").write_text(str(processes))
        self._limits = (memory_bytes, processes)

    def _limit_memory_1(self, memory_bytes: int) -> None:
        # Memory with swap may never be below memory alone, so the order depends on the way.
        files = [self.memory / "memory.limit_in_bytes", self.memory / "memory.memsw.limit_in_bytes"]
        files = [file for file in files if file.exists()]
        if self._limits is not None and memory_bytes > self._limits[0]:
            files.reverse()
        for file in files:
            file.write_text(str(memory_bytes))

    def oom_kills(self) -> int:
        """How often the kernel killed a process of it for memory; 0 where it does not say."""
        with contextlib.suppress(OSError):
            for line in self.oom_file.read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return 0

    def remove(self, patience_s: float = 2.0) -> None:
        """Remove it; its processes must have been killed."""
        deadline = time.monotonic() + patience_s
        for folder in self._folders():
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError:
                    if time.monotonic() > deadline:
                        return
                    time.sleep(0.002)

    def _folders(self) -> list[Path]:
        return list(dict.fromkeys(f for f in (self.memory, self.pids) if f is not None))


@cache
def _start_time(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def _owner_prefix() -> str:
    return f"{_PREFIX}{os.getpid()}-{_start_time(os.getpid())}-"


@cache
def _sweep(hierarchy: Hierarchy) -> None:
    """Remove what a killed process of ours left behind (an empty folder, never more)."""
    for parent in {hierarchy.memory, hierarchy.pids} - {None}:
        assert parent is not None
        for folder in parent.glob(f"{_PREFIX}*"):
            pid, _, rest = folder.name.removeprefix(_PREFIX).partition("-")
            with contextlib.suppress(OSError):
                stat = Path(f"/proc/{pid}/stat").read_text()
                if stat.rpartition(")")[2].split()[19] == rest.partition("-")[0]:
                    continue
            with contextlib.suppress(OSError):
                folder.rmdir()
