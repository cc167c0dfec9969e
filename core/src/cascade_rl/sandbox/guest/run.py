"""One run: files for its input and output, a fork, the watch, and what it left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from resource import RUSAGE_SELF, getrusage, setrlimit
from typing import Any, NamedTuple, NoReturn

from cascade_rl.sandbox.guest.channel import Channel, memory_file
from cascade_rl.sandbox.guest.program import ROLES, kernel_limits
from cascade_rl.sandbox.guest.walls import refuse_memory_files
from cascade_rl.sandbox.guest.watch import Watch, resident_kb

MAX_FILES = 256  # the guest's own limit on open files: nothing is open at or above it
_TAIL = 4096  # bytes kept of standard error
_SLACK_KB = 2048
_UNLIMITED = 2**64 - 1  # as the kernel has it; Python says -1
WITHOUT_RESULT = ("execute", "script")

#: A report as JSON. Every page that a general encoder touched would be copied for every fork.
_REPORT = (
    '{"exit":%(exit)s,"signal":%(signal)d,"reason":"%(reason)s","cpu_s":%(cpu_s).4f,'
    '"wall_s":%(wall_s).4f,"peak_kb":%(peak_kb)d,"survivors":%(survivors)d,"oom":%(oom)d,'
    '"stopped":%(stopped)d,"stdout_size":%(stdout_size)d,"stderr_size":%(stderr_size)d,'
    '"stdout":%(stdout)d,"stderr":%(stderr)d,"result":%(result)d,"bytes":%(bytes)d}'
)


class Streams(NamedTuple):
    """The descriptors that become 0, 1, 2 and, for a role that returns something, 3 (else -1)."""

    stdin: int
    stdout: int
    stderr: int
    result: int

    def close(self) -> None:
        """Close all."""
        for fd in self:
            if fd >= 0:
                os.close(fd)


class Oom:
    """The kernel's count of out-of-memory kills in our cgroup, where it can be read."""

    def __init__(self, paths: list[str]) -> None:
        found = [path for path in paths if os.access(path, os.R_OK)]
        self._fd = os.open(found[0], os.O_RDONLY | os.O_CLOEXEC) if found else None
        self._text = b""
        self._seen = self._count()

    def happened(self) -> bool:
        """Whether there was one since the last time we asked."""
        before, self._seen = self._seen, self._count()
        return self._seen > before

    def _count(self) -> int:
        if self._fd is None:
            return 0
        text = os.pread(self._fd, 4096, 0)
        if text == self._text:
            return self._seen
        self._text = text
        lines = text.splitlines()
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


def prepared(
    request: dict[str, Any],
    artifact: int | None = None,
    size: int = 0,
    starter: int | None = None,
) -> dict[str, Any]:
    """A request as a job: with the loaded program, and the limits as the kernel wants them."""
    job = {**request, "artifact": artifact, "size": size, "starter": None}
    job["rlimits"] = kernel_limits(request["limits"])
    # What is spawned is charged with our own peak memory, what is forked with our present one.
    # A spawned program cannot refuse itself memory files, which only a cgroup counts.
    counted = request["limits"]["tree_kb"] is None
    if (
        counted
        and starter is not None
        and getrusage(RUSAGE_SELF).ru_maxrss < resident_kb() + _SLACK_KB
    ):
        job["starter"] = starter
        numbers = [n for name, pair in job["rlimits"] for n in (name, *pair)]
        job["start_words"] = ["starter", *(str(n & _UNLIMITED) for n in numbers), "--"]
    if artifact is not None:
        fill_in(job, "artifact", artifact)
    return job


def start(job: dict[str, Any], streams: Streams, files: Iterable[int]) -> int:
    """Start the child; returns its process id."""
    if job["starter"] is not None and job["role"] == "execute":
        return _spawn(job, streams, files)
    pid = os.fork()
    if pid:
        return pid
    try:
        _become(job, streams, set(files))
    finally:
        os._exit(98)


def _spawn(job: dict[str, Any], streams: Streams, files: Iterable[int]) -> int:
    """Without a fork: all descriptors of the guest close themselves, but those named here."""
    artifact = job["artifact"]
    keep = [*files, artifact]  # a descriptor that is "moved" onto itself stays open
    actions = [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate(streams) if fd >= 0]
    closed = "-1" if job["pass_artifact"] else str(artifact)
    return os.posix_spawn(
        f"/proc/self/fd/{job['starter']}",
        [*job["start_words"], closed, *job["argv"]],
        job["env"],
        file_actions=[*actions, *((os.POSIX_SPAWN_DUP2, fd, fd) for fd in keep)],
        setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),  # Python ignores them
        setsid=not job["limits"]["namespace"],
    )


def _become(job: dict[str, Any], streams: Streams, keep: set[int]) -> NoReturn:
    if not job["limits"]["namespace"]:
        os.setsid()
    artifact = job["artifact"]
    if artifact is not None:
        if job["pass_artifact"]:
            keep.add(artifact)
        elif job["role"] != "execute":
            job["code"] = os.pread(artifact, job["size"], 0)
    for fd in keep:
        os.set_inheritable(fd, True)
    if artifact is not None and job["role"] == "execute":
        keep.add(artifact)
    low = 0
    for fd in streams:
        if fd >= 0:
            os.dup2(fd, low)
            low += 1
    for fd in [*sorted(keep), MAX_FILES]:
        os.closerange(low, fd)
        low = fd + 1
    role: Callable[[dict[str, Any]], NoReturn] = ROLES[job["role"]]
    for name, pair in job["rlimits"]:
        setrlimit(name, pair)
    if job["limits"]["tree_kb"] is not None:
        refuse_memory_files()
    role(job)


def send_report(channel: Channel, report: dict[str, Any], streams: Streams, most: int) -> None:
    """Send a report with the output that belongs to it, at most ``most`` bytes of each."""
    _, stdout, stderr, result = streams
    out, err = os.lseek(stdout, 0, os.SEEK_END), os.lseek(stderr, 0, os.SEEK_END)
    value = os.lseek(result, 0, os.SEEK_END) if result >= 0 else 0
    said, tail, returned = min(out, most), min(err, _TAIL), min(value, most)
    report["stdout_size"], report["stderr_size"] = out, err
    report["stdout"], report["stderr"], report["result"] = said, tail, returned
    report["bytes"] = said + tail + returned
    if report["exit"] is None:
        report["exit"] = "null"
    parts = ((stdout, 0, said), (stderr, err - tail, tail), (result, 0, returned))
    channel.send_text(_REPORT % report, parts)


def new_streams(stdin: int, role: str) -> Streams:
    """Empty memory files for the output of one run."""
    result = -1 if role in WITHOUT_RESULT else memory_file()
    return Streams(stdin, memory_file(), memory_file(), result)
