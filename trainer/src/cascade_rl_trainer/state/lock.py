"""One process a run folder. The kernel lets the lock go when its holder dies, however it dies.

The lock belongs to the open file, so a child made by a bare ``fork`` would keep it; our
workers are started with ``exec``, which closes it.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cascade_rl.errors import RunError


@contextmanager
def run_lock(run_dir: Path) -> Iterator[None]:
    """Hold the run folder; it is made if need be. Raises ``RunError`` when another has it."""
    fd = _opened(run_dir)
    try:
        _acquire(fd, run_dir)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        yield
    finally:
        os.close(fd)


def _opened(run_dir: Path) -> int:
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        # The file is never removed: a second process could then lock a name that is gone.
        return os.open(run_dir / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise RunError(
            f"cannot write to the output folder {run_dir}: {error.strerror}. Choose another: "
            "--set output=FOLDER"
        ) from error


def _acquire(fd: int, run_dir: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(fd, 200, 0).decode(errors="replace") or "another process"
        raise RunError(
            f"run folder {run_dir} is in use by {holder}. Wait until it ends, stop it, or give "
            "this run another output folder."
        ) from None
    except OSError as error:
        raise RunError(
            f"run folder {run_dir} cannot be locked: {error.strerror}. Its file system has no "
            "locks; put the output folder on one that has."
        ) from error
