"""The guest: a warm Python that forks once a test. In a pid namespace it is process 1.

It answers one request at a time: ``load`` (the program to run from now on), ``run``, ``talk``,
and, where there is a workspace, ``build``.
"""

from __future__ import annotations

import _sitebuiltins
import builtins
import ctypes
import fcntl
import gc
import importlib
import os
import resource
import signal
import stat
import sys
import traceback
from typing import Any

from cascade_rl.sandbox.guest.channel import Channel, memory_file, read_only
from cascade_rl.sandbox.guest.program import RESULT
from cascade_rl.sandbox.guest.rehearsal import rehearse
from cascade_rl.sandbox.guest.run import (
    MAX_FILES,
    Oom,
    new_streams,
    prepared,
    receive_files,
    run_job,
    send_report,
)
from cascade_rl.sandbox.guest.talk import talk
from cascade_rl.sandbox.guest.walls import raise_walls

#: Imported once here, so that few answers pay for them. What is rare or large is left out, as
#: every fork copies the page tables of all that is here; and so are ``threading`` and ``random``,
#: which do things of their own after each fork. Importing those takes an answer milliseconds.
WARM = (
    "atexit",
    "bisect",
    "collections.abc",
    "copy",
    "functools",
    "heapq",
    "itertools",
    "linecache",
    "math",
    "operator",
    "re",
    "string",
    "time",
    "traceback",
    "typing",
    "warnings",
)


class Guest:
    """The requests' handlers and what they share."""

    def __init__(self, channel: Channel, config: dict[str, Any]) -> None:
        self.channel, self.workspace = channel, config["workspace"]
        self.oom = Oom(config["oom_files"])
        self.artifact: int | None = None
        self.size = 0
        self.starter: int | None = None
        self.job: dict[str, Any] = {}

    def load(self, request: dict[str, Any]) -> None:
        """Take the program that the next runs are of."""
        if self.artifact is not None:
            os.close(self.artifact)
        fd = memory_file(executable=True)
        self.channel.receive_into(fd, request["size"])
        self.artifact, self.size = read_only(fd), request["size"]
        self.channel.send({})

    def equip(self, request: dict[str, Any]) -> None:
        """Take the program that starts executables."""
        fd = memory_file(executable=True)
        self.channel.receive_into(fd, request["size"])
        self.starter = read_only(fd)
        self.channel.send({})

    def run(self, request: dict[str, Any]) -> None:
        """One run of the loaded program."""
        self.job = self._prepared(request)
        self.again(request)

    def again(self, request: dict[str, Any]) -> None:
        """One more run that differs from the last one in its input only."""
        channel, job = self.channel, self.job
        stdin = channel.receive_file(request["stdin"])
        files: list[int] = []
        if request["files"]:
            job = {**job, "files": request["files"]}
            files = receive_files(channel, job)
        streams = new_streams(stdin, job["role"])
        report = run_job(channel, job, streams, files)
        report["oom"] = self.oom.happened()
        send_report(channel, report, streams, job["limits"]["output"])
        streams.close()
        for fd in files:
            os.close(fd)

    def talk(self, request: dict[str, Any]) -> None:
        """One run of the loaded program, in conversation with the host."""
        talk(self.channel, self._prepared(request), self.oom)

    def build(self, request: dict[str, Any]) -> None:
        """Run some commands in the workspace and send what they made; leave nothing."""
        folder = self.workspace
        request["env"] = {k: v.replace("{workspace}", folder) for k, v in request["env"].items()}
        for name, size in request["sources"]:
            fd = os.open(f"{self.workspace}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            self.channel.receive_into(fd, size)
            os.close(fd)
        os.mkdir(f"{self.workspace}/tmp")
        os.chdir(self.workspace)
        streams = new_streams(memory_file(), request["role"])
        report: dict[str, Any] = {}
        job = prepared(request)
        for argv in request["steps"]:
            report = run_job(self.channel, {**job, "argv": argv}, streams, [])
            if report["exit"] != 0:
                break
        report["oom"] = self.oom.happened()
        made = self._made(request["output"]) if report["exit"] == 0 else memory_file()
        streams = streams._replace(result=made)
        send_report(self.channel, report, streams, request["limits"]["output"])
        streams.close()
        os.chdir("/")
        _empty(self.workspace)

    def _prepared(self, request: dict[str, Any]) -> dict[str, Any]:
        return prepared(request, self.artifact, self.size, self.starter)

    def _made(self, name: str) -> int:
        try:
            fd = os.open(f"{self.workspace}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return memory_file()
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
        return memory_file()


def serve(source: int, sink: int, config: dict[str, Any]) -> None:
    """Answer requests until the host hangs up."""
    given = (source, sink)
    source, sink, errors = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100) for fd in (*given, 2))
    for fd in {fd for fd in given if fd > RESULT}:
        os.close(fd)
    try:
        _serve(Channel(source, sink), config)
    except BaseException:
        os.write(errors, traceback.format_exc()[-4000:].encode("utf-8", "replace"))
        os._exit(70)


def _serve(channel: Channel, config: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_FILES, MAX_FILES))
    _own_streams()  # first: it takes the lowest descriptors
    guest = Guest(channel, config)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # for process 1 that is: ignored
    for name in WARM:
        importlib.import_module(name)
    for name in ("exit", "quit"):  # what the site module would have added
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    if config["packages"] is not None:
        sys.path.append(config["packages"])
    walls = raise_walls(config["workspace"])
    for name in [name for name in sys.modules if name.startswith("cascade_rl")]:
        del sys.modules[name]  # no business of an answer's
    hello = {
        "walls": walls,
        "python": sys.version.split()[0],
        "process": os.getpid(),
        "static": _can_link_statically(),
        "tools": _find_tools(config["tools"]),
    }
    rehearse()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    gc.freeze()
    gc.disable()
    channel.send(hello)
    operations = ("load", "equip", "run", "again", "talk", "build")
    handlers = {name: getattr(guest, name) for name in operations}
    while True:
        request = channel.receive()
        handlers[request["op"]](request)


def _find_tools(names: list[str]) -> dict[str, str]:
    if not names:
        return {}
    import shutil  # brings three compression libraries

    found = {name: shutil.which(name) for name in names}
    return {name: os.path.realpath(path) for name, path in found.items() if path}


def _can_link_statically() -> bool:
    import glob

    c = glob.glob("/usr/lib*/libc.a") + glob.glob("/usr/lib/*/libc.a")
    return bool(c and glob.glob("/usr/lib/gcc/*/*/libstdc++.a"))


def _own_streams() -> None:
    """Make 0, 1 and 2 regular files, as they will be in every child, and 3 a placeholder.

    The interpreter's stream objects are made here, once: a child finds them fresh.
    """
    for target in range(RESULT + 1):
        fd = memory_file()
        if fd != target:
            os.dup2(fd, target, inheritable=False)
            os.close(fd)
    options: dict[str, Any] = {"encoding": "utf-8", "closefd": False}
    sys.stdin = open(0, errors="surrogateescape", **options)
    sys.stdout = open(1, "w", errors="surrogateescape", **options)
    sys.stderr = open(2, "w", errors="backslashreplace", **options)
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))


def _empty(folder: str) -> None:
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, 0o700)
            _empty(entry.path)
            os.rmdir(entry.path)
        else:
            os.unlink(entry.path)
