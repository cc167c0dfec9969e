"""One guest, seen from the host: how it is booted and what can be asked of it."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cascade_rl.sandbox.guest import LOADER, MODULES
from cascade_rl.sandbox.link import GuestDied, Link, Stream

_PACKAGE = "cascade_rl.sandbox.guest"
_START_S = 60.0
_OF_ONE_RUN = ("stdin", "files")


class Connection(ABC):
    """A process (bubblewrap, a container) that executes ``LOADER``, and the way to it."""

    stream: Stream

    @abstractmethod
    def limit(self, memory_mb: int, processes: int) -> None:
        """Set what the wall itself can limit for the runs that follow; raises ``OSError``."""

    @abstractmethod
    def end(self) -> str:
        """Kill everything in it; returns what it last said of itself, for an error message."""

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel has killed the guest itself for its runs' memory."""
        return False


class Guest:
    """A booted guest. Not thread-safe; after ``GuestDied`` only ``close`` may be called."""

    def __init__(self, connection: Connection, config: dict[str, Any]) -> None:
        self.connection = connection
        self.link = Link(connection.stream)
        self.loaded: str | None = None
        self._job: dict[str, Any] | None = None
        self._equipped = False
        try:
            connection.stream.sendall(_boot_message(config))
            self.hello, _ = self.link.receive(_START_S)
        except (GuestDied, OSError) as error:
            raise GuestDied(f"it did not start: {self.close() or error}") from error

    def load(self, key: str, artifact: bytes) -> None:
        """Make ``artifact`` the program of the runs that follow, unless it is already."""
        if self.loaded == key:
            return
        self.loaded = self._job = None
        self.link.send({"op": "load", "size": len(artifact)}, artifact)
        self.link.receive(_START_S)
        self.loaded = key

    def equip(self, starter: bytes) -> None:
        """Give it the program that starts executables, unless it has it."""
        if not self._equipped:
            self.link.send({"op": "equip", "size": len(starter)}, starter)
            self.link.receive(_START_S)
            self._equipped = True

    def ask(
        self, request: dict[str, Any], payload: bytes, timeout_s: float
    ) -> tuple[dict[str, Any], bytes]:
        """One request, one report; raises ``GuestDied``."""
        self.link.send(request, payload)
        return self.link.receive(timeout_s)

    def run(
        self, request: dict[str, Any], payload: bytes, timeout_s: float
    ) -> tuple[dict[str, Any], bytes]:
        """One run of the loaded program, as ``ask``; says only what the last one did not."""
        job = {key: value for key, value in request.items() if key not in _OF_ONE_RUN}
        if job == self._job:
            request = {"op": "again", **{key: request[key] for key in _OF_ONE_RUN}}
        self._job = job
        return self.ask(request, payload, timeout_s)

    def hang_up(self) -> None:
        """Break the channel, from any thread: the guest ends, and whoever asks finds it dead."""
        with contextlib.suppress(OSError):
            self.connection.stream.shutdown(socket.SHUT_RDWR)

    def close(self) -> str:
        """Kill it and all that is in it; returns its last words."""
        with contextlib.suppress(OSError):
            self.connection.stream.close()
        return self.connection.end().strip()


@cache
def _modules() -> list[tuple[str, str]]:
    folder = Path(__file__).parent / "guest"
    return [(f"{_PACKAGE}.{name}", (folder / f"{name}.py").read_text()) for name in MODULES]


def _boot_message(config: dict[str, Any]) -> bytes:
    parts = _PACKAGE.split(".")
    packages = [".".join(parts[: n + 1]) for n in range(len(parts))]
    text = json.dumps({"packages": packages, "modules": _modules(), "config": config}).encode()
    return struct.pack("<I", len(text)) + text


def guest_config(
    workspace: str | None = None,
    oom_files: Sequence[str] = (),
    packages: str | None = None,
    tools: Sequence[str] = (),
) -> dict[str, Any]:
    """A guest's configuration: paths as it sees them, and tools for it to look for."""
    return {
        "workspace": workspace,
        "oom_files": list(oom_files),
        "packages": packages,
        "tools": list(tools),
    }


def loader_command(python: str, source: int, sink: int) -> list[str]:
    """The command that waits for a boot message on a descriptor.

    Not ``-I``: it ignores PYTHONHASHSEED, and the order of a set would differ from guest to guest.
    """
    settings = ("-s", "-S", "-X", "utf8", "-X", "int_max_str_digits=0")  # print(10**5000) is legal
    return [python, *settings, "-c", LOADER, str(source), str(sink)]
