"""No wall at all: the guest as a plain child process, with resource limits. Isolation: none.

For programs that are trusted. A hostile one can read what this user can read, kill this user's
processes, and use the machine. It is never chosen by itself: it has to be asked for by name.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from cascade_rl.sandbox.guest_process import Connection, Guest, guest_config, loader_command
from cascade_rl.sandbox.guests import GuestSandbox
from cascade_rl.sandbox.jobs import Traits
from cascade_rl.sandbox.runtime import find_runtime
from cascade_rl.sandbox.types import Isolation

_GRACE_S = 5.0


class PlainConnection(Connection):
    """A child process of ours."""

    def __init__(self, workspace: bool) -> None:
        self.folder = tempfile.mkdtemp(prefix="cascade-rl-") if workspace else None
        ours, theirs = socket.socketpair()
        self.stream = ours
        self._errors = os.memfd_create("errors", os.MFD_CLOEXEC)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                loader_command(sys.executable, theirs.fileno(), theirs.fileno()),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                cwd="/",  # whose files would be importable
                env={"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "LANG": "C.UTF-8"},
                start_new_session=True,
            )

    def limit(self, memory_mb: int, processes: int) -> None:
        """Nothing can be limited from outside."""

    def end(self) -> str:
        """Wait for the guest, which ends what it started once the host has hung up."""
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        said = os.pread(self._errors, 4000, 0).decode("utf-8", "replace")
        os.close(self._errors)
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        return said


class PlainSandbox(GuestSandbox):
    """Guests without walls."""

    def __init__(self, workers: int = 1) -> None:
        self._runtime = find_runtime(lambda path: os.access(path, os.R_OK))
        super().__init__(workers, Traits(namespace=False, cgroup=False, own_user=False))
        with self._answers.slot() as slot:
            self._hello = slot.guest().hello

    @property
    def isolation(self) -> Isolation:
        """See ``Sandbox.isolation``."""
        return Isolation(
            backend="none",
            level="none",
            enforced={
                "cpu": "CPU time of the process tree, RLIMIT_CPU",
                "memory": "RSS, looked at every 50 ms, and address space",
                "processes": "not enforced",
                "output": "RLIMIT_FSIZE on memory files",
                "network": "not enforced",
                "files": "not enforced",
                **self._hello["walls"],
                "python": self._hello["python"],
            },
        )

    def _start(self, workspace: bool) -> Guest:
        connection = PlainConnection(workspace)
        return Guest(connection, guest_config(connection.folder, packages=self._packages()))

    def _packages(self) -> str | None:
        numpy = Path(self._runtime.mounts.get("/packages/numpy", "/nowhere")).parent
        return str(numpy) if numpy.is_dir() and numpy != Path("/") else None

    def _tools(self) -> dict[str, str]:
        return {**self._runtime.tools, "static": "-static" if self._hello["static"] else ""}
