"""The guest: a warm Python that forks once a test. In a pid namespace it is process 1.

It answers one request at a time: ``load`` (the program to run from now on), ``run``, ``talk``,
and, where there is a workspace, ``build``.
"""

from __future__ import annotations

import _sitebuiltins
import builtins
import fcntl
import gc
import glob
import importlib
import os
import resource
import shutil
import signal
import stat
import sys
import traceback
from typing import Any

from cascade_rl.sandbox.guest.channel import Channel, memory_file, read_only
from cascade_rl.sandbox.guest.program import RESULT
from cascade_rl.sandbox.guest.run import (
    MAX_FILES,
    Oom,
    fill_in,
    new_streams,
    receive_files,
    run_job,
    send_report,
)
from cascade_rl.sandbox.guest.talk import talk
from cascade_rl.sandbox.guest.walls import raise_walls

#: Imported once here, so that no answer pays for them. Not ``threading`` and ``random``: what they
#: do after every fork would double its cost, and importing them later is cheap after these.
WARM = (
    "_weakrefset",
    "array",
    "ast",
    "atexit",
    "bisect",
    "calendar",
    "cmath",
    "collections.abc",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "io",
    "itertools",
    "json",
    "linecache",
    "math",
    "numbers",
    "operator",
    "os.path",
    "pprint",
    "re",
    "string",
    "struct",
    "textwrap",
    "time",
    "traceback",
    "typing",
    "warnings",
    "weakref",
)


class Guest:
    """The requests' handlers and what they share."""

    def __init__(self, channel: Channel, config: dict[str, Any]) -> None:
        self.channel, self.workspace = channel, config["workspace"]
        self.oom = Oom(config["oom_files"])
        self.artifact: int | None = None

    def load(self, request: dict[str, Any]) -> None:
        """Take the program that the next runs are of."""
        if self.artifact is not None:
            os.close(self.artifact)
        fd = memory_file(executable=True)
        self.channel.receive_into(fd, request["size"])
        self.artifact = read_only(fd)
        self.channel.send({})

    def run(self, request: dict[str, Any]) -> None:
        """One run of the loaded program."""
        job = self._complete(request)
        stdin = self.channel.receive_file(job["stdin"])
        files = receive_files(self.channel, job)
        streams = new_streams(stdin)
        report = run_job(self.channel, job, streams, files)
        report["oom"] = self.oom.happened()
        send_report(self.channel, report, streams, job["limits"]["output"], result=True)
        streams.close()
        for fd in files:
            os.close(fd)

    def talk(self, request: dict[str, Any]) -> None:
        """One run of the loaded program, in conversation with the host."""
        talk(self.channel, self._complete(request), self.oom)

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
        streams = new_streams(memory_file())
        report: dict[str, Any] = {}
        for argv in request["steps"]:
            job = {**request, "argv": argv, "artifact": None}
            report = run_job(self.channel, job, streams, [])
            if report["exit"] != 0:
                break
        report["oom"] = self.oom.happened()
        made = self._made(request["output"]) if report["exit"] == 0 else memory_file()
        os.close(streams.result)
        streams = streams._replace(result=made)
        send_report(self.channel, report, streams, request["limits"]["output"], result=True)
        streams.close()
        os.chdir("/")
        _empty(self.workspace)

    def _complete(self, request: dict[str, Any]) -> dict[str, Any]:
        request["artifact"] = self.artifact
        if self.artifact is not None:
            fill_in(request, "artifact", self.artifact)
        return request

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
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
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
    gc.collect()
    gc.freeze()
    gc.disable()
    channel.send(
        {
            "walls": walls,
            "python": sys.version.split()[0],
            "process": os.getpid(),
            "static": _can_link_statically(),
            "tools": _find_tools(config["tools"]),
        }
    )
    handlers = {name: getattr(guest, name) for name in ("load", "run", "talk", "build")}
    while True:
        request = channel.receive()
        handlers[request["op"]](request)


def _find_tools(names: list[str]) -> dict[str, str]:
    found = {name: shutil.which(name) for name in names}
    return {name: os.path.realpath(path) for name, path in found.items() if path}


def _can_link_statically() -> bool:
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
