"""Writing so that a SIGKILL at any moment leaves the old or the new on disk, each complete.

A file or folder is written under a temporary name beside its target, flushed to the disk
and renamed. ``clean_up`` removes what a kill left behind; call it when the run folder's
lock is held, before anything is read.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cascade_rl.errors import RunError

_PART = ".cascade-part"
_OLD = ".cascade-old"
_LEFTOVER = re.compile(r"^\.(?P<name>.+?)(\.[0-9a-f]{8}\.cascade-part|(?P<old>\.cascade-old))$")

# linux/fs.h and fcntl.h: values of renameat2(2), which Python does not wrap.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def write_bytes(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data`` in one step; raises ``RunError`` when it cannot be written."""
    part = _beside(path)
    with _write_errors(path):
        try:
            with part.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """``write_bytes`` of UTF-8."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """``write_bytes`` of readable JSON; NaN and infinity are refused with ``ValueError``."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


@contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """An empty folder to fill, which becomes ``target`` in one step when the block ends.

    When the block raises, ``target`` stays as it was. Raises ``RunError`` when something
    cannot be written, and whatever the block raises that is not an ``OSError``.
    """
    part = _beside(target)
    with _write_errors(target):
        try:
            part.mkdir(parents=True)
            yield part
            _sync_tree(part)
            _swap_in(part, target)
        finally:
            shutil.rmtree(part, ignore_errors=True)  # the old folder, or an unfinished new one
        sync_folder(target.parent)


def remove_folder(path: Path) -> None:
    """Remove a folder so that a kill never leaves half of it under its own name."""
    doomed = _beside(path)
    path.rename(doomed)
    sync_folder(path.parent)
    shutil.rmtree(doomed)


def clean_up(root: Path) -> list[Path]:
    """Remove temporary files and folders under ``root``; returns the targets concerned.

    Only names that this module gives are touched. A replacement that was interrupted
    between its two renames (where folders cannot be swapped) is taken back.
    """
    found: list[Path] = []
    for folder, subfolders, files in os.walk(root):
        leftovers = [(name, m) for name in subfolders + files if (m := _LEFTOVER.match(name))]
        subfolders[:] = [name for name in subfolders if not _LEFTOVER.match(name)]
        for name, match in leftovers:
            leftover, target = Path(folder, name), Path(folder, match["name"])
            if match["old"] and not target.exists():
                leftover.rename(target)
            elif leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()
            found.append(target)
    return found


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk; some network file systems cannot, and are let be."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise
    finally:
        os.close(fd)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}{_PART}")


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(
            f"cannot write {path}: {error.strerror or error} (what was there before is "
            "unchanged). Check the run folder's free space and permissions, then run again."
        ) from error


def _sync_tree(root: Path) -> None:
    for folder, _, files in os.walk(root):
        for name in files:
            with Path(folder, name).open("rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(folder))


def _swap_in(part: Path, target: Path) -> None:
    """Put ``part`` in ``target``'s place; ``part`` may be the old folder afterwards."""
    if not target.exists():
        part.rename(target)
    elif not _exchange(part, target):
        old = target.with_name(f".{target.name}{_OLD}")
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
        part.rename(target)  # killed just before this: clean_up renames `old` back
        shutil.rmtree(old)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names in one step; False where the system or the file system cannot."""
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    names = os.fsencode(first), os.fsencode(second)
    return bool(renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)
