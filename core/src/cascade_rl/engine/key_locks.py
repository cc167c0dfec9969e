"""Locks by key between processes: bytes of one file, locked by the kernel.

A lock ends with its holder, however that ends, so no lease has to run out. They are Linux's
"open file description" locks, because the older kind is lost when anything in the process
closes the same file. Elsewhere every lock is granted: work may be done twice, never wrongly.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FILE = "verdicts.lock"
_SET = getattr(fcntl, "F_OFD_SETLK", None)
_SET_WAITING = getattr(fcntl, "F_OFD_SETLKW", None)
_ALL = 1 << 62  # a byte of its own, beyond those of the keys


class KeyLocks:
    """The locks of one folder. Those of one instance never stand in each other's way."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / FILE).open("ab")

    def try_lock(self, key: bytes) -> bool:
        """Take a key's lock unless somebody else holds it; never waits."""
        if _SET is None:
            return True
        try:
            fcntl.fcntl(self._file, _SET, _flock(fcntl.F_WRLCK, _place(key)))
        except (OSError, ValueError):  # held by another, or closed
            return False
        return True

    def unlock(self, key: bytes) -> None:
        """Give a key's lock back."""
        if _SET is not None:
            with suppress(OSError, ValueError):  # closed: it is free already
                fcntl.fcntl(self._file, _SET, _flock(fcntl.F_UNLCK, _place(key)))

    @contextmanager
    def all(self) -> Iterator[None]:
        """Wait for the one lock that guards the folder's files as such."""
        if _SET is None or _SET_WAITING is None:
            yield
            return
        fcntl.fcntl(self._file, _SET_WAITING, _flock(fcntl.F_WRLCK, _ALL))
        try:
            yield
        finally:
            fcntl.fcntl(self._file, _SET, _flock(fcntl.F_UNLCK, _ALL))

    def close(self) -> None:
        """Give every lock back."""
        self._file.close()


def _flock(kind: int, start: int) -> bytes:
    return struct.pack("hhqqi", kind, os.SEEK_SET, start, 1, 0)


def _place(key: bytes) -> int:
    return int.from_bytes(key[:8], "big") >> 2
