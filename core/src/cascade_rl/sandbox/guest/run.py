"""One run: files for its input and output, a fork, the watch, and what it left behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

from cascade_rl.sandbox.guest.channel import Channel, memory_file
from cascade_rl.sandbox.guest.program import RESULT, ROLES, limit
from cascade_rl.sandbox.guest.watch import Watch

MAX_FILES = 256  # the guest's own limit on open files: nothing is open at or above it
_TAIL = 4096  # bytes kept of standard error
_WITHOUT_RESULT = ("execute", "script")


class Streams(NamedTuple):
    """The descriptors that become 0, 1, 2 and, for a role that returns something, 3."""

    stdin: int
    stdout: int
    stderr: int
    result: int

    def close(self) -> None:
        """Close all four."""
        for fd in self:
            os.close(fd)


class Oom:
    """The kernel's count of out-of-memory kills in our cgroup, where it can be read."""

    def __init__(self, paths: list[str]) -> None:
        found = [path for path in paths if os.access(path, os.R_OK)]
        self._fd = os.open(found[0], os.O_RDONLY | os.O_CLOEXEC) if found else None
        self._seen = self._count()

    def happened(self) -> bool:
        """Whether there was one since the last time we asked."""
        before, self._seen = self._seen, self._count()
        return self._seen > before

    def _count(self) -> int:
        if self._fd is None:
            return 0
        lines = os.pread(self._fd, 4096, 0).splitlines()
        return next((int(line[9:]) for line in lines if line.startswith(b"oom_kill ")), 0)


def receive_files(channel: Channel, job: dict[str, Any]) -> list[int]:
    """Take the job's files from the channel; ``{name}`` in ``argv`` becomes their path."""
    opened = []
    for name, size in job["files"]:
        fd = channel.receive_file(size)
        opened.append(fd)
        fill_in(job, name, fd)
    return opened


def fill_in(job: dict[str, Any], name: str, fd: int) -> None:
    """Replace ``{name}`` in ``argv`` by the path of an open file."""
    job["argv"] = [word.replace(f"{{{name}}}", f"/proc/self/fd/{fd}") for word in job["argv"]]


def run_job(channel: Channel, job: dict[str, Any], streams: Streams, files: list[int]) -> Any:
    """Run it to its end; returns the watch's report."""
    watch = Watch(start(job, streams, files), job["limits"])
    watch.wait(channel.source)
    return watch.finish()


def start(job: dict[str, Any], streams: Streams, files: Iterable[int]) -> int:
    """Fork the child; returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        _become(job, streams, set(files))
    finally:
        os._exit(98)


def _become(job: dict[str, Any], streams: Streams, keep: set[int]) -> NoReturn:
    if not job["limits"]["namespace"]:
        os.setsid()
    if job["pass_artifact"]:
        keep.add(job["artifact"])
    for fd in keep:
        os.set_inheritable(fd, True)
    if job["artifact"] is not None:
        keep.add(job["artifact"])
    count = RESULT if job["role"] in _WITHOUT_RESULT else RESULT + 1
    for target in range(count):
        os.dup2(streams[target], target)
    low = count
    for fd in [*sorted(keep), MAX_FILES]:
        os.closerange(low, fd)
        low = fd + 1
    role: Callable[[dict[str, Any]], NoReturn] = ROLES[job["role"]]
    limit(job["limits"])
    role(job)


def send_report(
    channel: Channel, report: dict[str, Any], streams: Streams, most: int, result: bool = False
) -> None:
    """Send a report with the output that belongs to it, at most ``most`` bytes of each."""
    out, err = (os.fstat(fd).st_size for fd in streams[1:3])
    value = os.fstat(streams.result).st_size if result else 0
    tail = min(err, _TAIL)
    report.update(
        stdout_size=out,
        stderr_size=err,
        stdout=min(out, most),
        stderr=tail,
        result=min(value, most),
    )
    channel.send(
        report,
        (
            (streams.stdout, 0, report["stdout"]),
            (streams.stderr, err - tail, tail),
            (streams.result, 0, report["result"]),
        ),
    )


def new_streams(stdin: int) -> Streams:
    """Empty memory files for the output of one run."""
    return Streams(stdin, memory_file(), memory_file(), memory_file())
