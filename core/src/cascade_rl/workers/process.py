"""The parent's side of one worker process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from cascade_rl.errors import CascadeError
from cascade_rl.workers.channel import Channel
from cascade_rl.workers.starter import start_child

#: How long a child may take to end once its connection has.
DEATH_GRACE_S = 0.5


class WorkerTimeout(CascadeError):
    """The worker did not answer in time. It has been killed."""


class WorkerDied(CascadeError):
    """The worker ended without an answer (crash, ``os._exit``, out of memory).

    ``outside``: by a signal that is sent, not met (SIGKILL, SIGTERM): mostly by the machine.
    """

    def __init__(self, message: str, outside: bool = False) -> None:
        super().__init__(message)
        self.outside = outside


class CallFailed(CascadeError):
    """The called function raised; the text is ``Type: message``."""


class WorkerProcess:
    """A fresh interpreter that runs ``target(channel, init)``.

    ``target`` is "module:function". The child is a new program (no fork of this process, no
    re-run of ``__main__``), leads its own session, and dies with the parent.
    """

    def __init__(self, target: str, init: Any = None) -> None:
        self.target = target
        ours, theirs = socket.socketpair()
        boot = {"target": target, "init": init, "path": sys.path, "parent": os.getpid()}
        try:
            self._process = start_child(lambda: _start(theirs.fileno()))
        finally:
            theirs.close()
        self.channel = Channel(ours.detach())
        self.channel.send(boot)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def send(self, message: Any) -> None:
        """Send one message; raises ``WorkerDied``."""
        try:
            self.channel.send(message)
        except OSError as error:
            raise self.died() from error

    def receive(self, timeout_s: float | None) -> Any:
        """Wait for one message.

        Raises ``WorkerTimeout`` after ``timeout_s`` seconds (the child is killed first) and
        ``WorkerDied`` when the child ended.
        """
        try:
            if not self.channel.poll(timeout_s):
                self.kill()
                raise WorkerTimeout(f"no answer within {timeout_s:g} s from {self.target}")
            return self.channel.receive()
        except (EOFError, OSError) as error:
            raise self.died() from error

    def call(self, payload: Any, timeout_s: float | None) -> Any:
        """Send one message to a target that runs ``serve_calls`` and return its answer."""
        self.send(payload)
        answer = self.receive(timeout_s)
        if "error" in answer:
            raise CallFailed(answer["error"])
        return answer["ok"]

    def kill(self) -> None:
        """Kill the child and all that it started. Safe to call twice."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.channel.close()

    def died(self) -> WorkerDied:
        """Why the connection ended, after making sure that the child has."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=DEATH_GRACE_S)
        code = self._process.poll()
        self.kill()
        if code is None:
            return WorkerDied(f"worker for {self.target} closed its connection")
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        outside = code in (-signal.SIGKILL, -signal.SIGTERM)
        return WorkerDied(f"worker for {self.target} ended ({how})", outside)

    def hang_up(self) -> None:
        """Let the child end in order; ``close`` waits for it."""
        self.channel.close()

    def close(self, grace_s: float = 1.0) -> None:
        """Hang up, let the child end in order, and kill it after ``grace_s`` seconds."""
        self.channel.close()
        deadline = time.monotonic() + grace_s
        while self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        self.kill()


def _start(fd: int) -> subprocess.Popen[bytes]:
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ}
    return subprocess.Popen(  # noqa: S603 - our own module, no input in the arguments
        [sys.executable, "-m", "cascade_rl.workers.child", str(fd)],
        pass_fds=[fd],
        stdin=subprocess.DEVNULL,
        stdout=sys.__stderr__ if sys.__stderr__ is not None else subprocess.DEVNULL,
        env={**environment, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        start_new_session=True,
    )
