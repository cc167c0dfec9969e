"""Several processes on one socket: started, watched, replaced when one dies, stopped together.

Each is ``python -m cascade_rl.service.processes FD``. Its settings, tokens included, come
through its standard input: arguments and environments can be read by others. When that input
ends, because the supervisor stops or died, the process stops in order.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from cascade_rl.errors import RunError
from cascade_rl.registry import Registry
from cascade_rl.service.settings import ServiceSettings

_POLL_S = 0.1
#: A process that ends sooner than this has not started well.
YOUNG_S = 5.0
MAX_YOUNG_DEATHS = 5
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


class Supervisor:
    """Keeps ``settings.processes`` processes alive until told to stop."""

    def __init__(self, settings: ServiceSettings, listener: socket.socket) -> None:
        self._settings, self._listener = settings, listener
        self._children: list[_Child] = []
        self._stop = threading.Event()
        self._young_deaths = 0

    def run(self) -> None:
        """Until SIGTERM or SIGINT. Raises ``RunError`` when processes die as they start."""
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._signalled)
        folder = tempfile.mkdtemp(prefix="cascade-metrics-")
        try:
            while not self._stop.is_set():
                self._replace_dead(folder)
                self._stop.wait(_POLL_S)
        finally:
            self._stop_all()
            shutil.rmtree(folder, ignore_errors=True)

    def _signalled(self, signum: int, frame: FrameType | None) -> None:
        del signum, frame
        self._stop.set()

    def _replace_dead(self, folder: str) -> None:
        for child in [c for c in self._children if c.process.poll() is not None]:
            self._children.remove(child)
            _forget_metrics(child.process.pid, folder)
            if child.age_s() < YOUNG_S:
                self._young_deaths += 1
            if self._young_deaths >= MAX_YOUNG_DEATHS:
                code = child.process.returncode
                raise RunError(
                    f"{self._young_deaths} processes of the service ended within {YOUNG_S:g} s "
                    f"of their start (the last with exit code {code}); see their messages above"
                )
        while len(self._children) < self._settings.processes:
            self._children.append(_Child(self._settings, self._listener, folder))

    def _stop_all(self) -> None:
        for child in self._children:
            child.hang_up()
        deadline = time.monotonic() + self._settings.limits.grace_s + 15
        for child in self._children:
            child.wait(max(0.0, deadline - time.monotonic()))


class _Child:
    """One process."""

    def __init__(self, settings: ServiceSettings, listener: socket.socket, folder: str) -> None:
        self._started = time.monotonic()
        path = os.pathsep.join(p for p in sys.path if p)
        self.process = subprocess.Popen(  # noqa: S603 - our own module, no input in the arguments
            [sys.executable, "-m", "cascade_rl.service.processes", str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, METRICS_FOLDER: folder},
            start_new_session=True,
        )
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died already: seen at the next poll
            self.process.stdin.write(_encode(settings) + b"\n")
            self.process.stdin.flush()

    def age_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def hang_up(self) -> None:
        """Tell it to stop in order."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def wait(self, seconds: float) -> None:
        """Wait for its end; then kill it."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def prepare(settings: ServiceSettings, listener: socket.socket) -> Callable[[], None]:
    """Check that the packs can be used, and return what serves until a signal.

    Raises a subclass of ``PackError``: better once here than in each process.
    """
    registry = Registry()
    for name, domain in settings.domains.items():
        registry.open(name, dict(domain.options))
    return Supervisor(settings, listener).run


def _encode(settings: ServiceSettings) -> bytes:
    data: dict[str, Any] = settings.model_dump(mode="json", exclude={"tokens"})
    data["tokens"] = [token.get_secret_value() for token in settings.tokens]
    return json.dumps(data).encode()


def _forget_metrics(pid: int, folder: str) -> None:
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]


def main(fd: int) -> None:
    """The child: read the settings, serve, stop when the input ends."""
    from cascade_rl.service.server import Server

    settings = ServiceSettings.model_validate_json(sys.stdin.buffer.readline())
    server = Server(settings)

    def watch() -> None:
        sys.stdin.buffer.read()
        server.request_stop()

    threading.Thread(target=watch, daemon=True).start()
    server.run(sockets=[socket.socket(fileno=fd)])


if __name__ == "__main__":
    main(int(sys.argv[1]))
