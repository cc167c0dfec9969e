"""Verdicts on disk: SQLite and JSON, never pickle. Safe to kill at any moment.

Every process may open the same folder. Nothing here raises for what is on the disk: a file
that is damaged is replaced by an empty one with a warning, and where even that fails the
store answers nothing and keeps nothing.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from cascade_rl.engine.key_locks import KeyLocks
from cascade_rl.types import Reward

SCHEMA_VERSION = 1
FILE = f"verdicts.v{SCHEMA_VERSION}.sqlite3"
BUSY_S = 5.0
BATCH = 512
QUEUE = 8192
TOUCH_AFTER_S = 3600
#: SQLite's primary codes for: no such table, a damaged page, no database at all.
_DAMAGE = {1, 11, 26}
_TABLES = f"""
    CREATE TABLE IF NOT EXISTS verdicts (
        key BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, crc INTEGER NOT NULL, reward BLOB NOT NULL
    );
    CREATE INDEX IF NOT EXISTS by_use ON verdicts (used);
    PRAGMA user_version = {SCHEMA_VERSION};
"""
_log = logging.getLogger("cascade_rl.engine")
_Entry = tuple[bytes, bytes | None, Callable[[], None] | None]


class VerdictStore:
    """At most about ``max_mb`` megabytes of verdicts in a folder; the longest unused go first."""

    def __init__(self, folder: Path, locks: KeyLocks, max_mb: int) -> None:
        self._path, self._locks, self._max_bytes = folder / FILE, locks, max_mb * 1_000_000
        self._read_lock = threading.Lock()
        self._reader: sqlite3.Connection | None = None
        self._epoch = self._inode = 0  # which file is open; a damaged one is replaced
        self._silent = False
        self._queue: queue.Queue[_Entry | None] = queue.Queue(QUEUE)
        with self._read_lock:
            self._open_reader()
        self._thread = threading.Thread(target=self._write_all, daemon=True, name="verdicts")
        self._thread.start()

    def get(self, key: bytes) -> Reward | None:
        """The stored verdict, if there is one that is whole."""
        with self._read_lock:
            if self._reader is None:
                return None
            try:
                row = self._reader.execute(
                    "SELECT used, crc, reward FROM verdicts WHERE key = ?", (key,)
                ).fetchone()
            except sqlite3.Error as error:
                self._trouble(error, self._epoch)
                return None
        if row is None or not _is_whole(key, *row):
            return None
        try:
            reward = Reward.model_validate(json.loads(row[2]))
        except (ValidationError, ValueError, RecursionError):
            return None
        if row[0] < time.time() - TOUCH_AFTER_S:
            self._enqueue((key, None, None))
        return reward

    def put(self, key: bytes, reward: Reward, then: Callable[[], None]) -> None:
        """Store soon; ``then`` is called from another thread when that is done or given up."""
        data = json.dumps(reward.model_dump(mode="json")).encode()
        if not self._enqueue((key, data, then)):
            then()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._queue.put(None)
        self._thread.join()
        with self._read_lock:
            if self._reader is not None:
                self._reader.close()
            self._reader = None

    def _enqueue(self, entry: _Entry) -> bool:
        try:
            self._queue.put_nowait(entry)
        except queue.Full:  # the disk is too slow: rather forget a verdict than wait
            return False
        return True

    def _write_all(self) -> None:
        writer: sqlite3.Connection | None = None
        epoch, going = -1, True
        while going:
            batch = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while len(batch) < BATCH:
                    batch.append(self._queue.get_nowait())
            going = None not in batch
            entries = [entry for entry in batch if entry is not None]
            try:
                if epoch != self._epoch and self._reader is not None:
                    epoch, writer = self._epoch, _connect(self._path)
                if writer is not None and entries:
                    _write(writer, entries)
                    _evict(writer, self._max_bytes)
            except sqlite3.Error as error:
                with self._read_lock:
                    self._trouble(error, epoch)
            for _, _, then in entries:
                if then is not None:
                    then()
        if writer is not None:
            writer.close()

    def _trouble(self, error: sqlite3.Error, epoch: int) -> None:
        """After an error, with the reading lock held: a fresh file if this one is damaged."""
        if epoch != self._epoch or self._reader is None:
            return  # it was about a file that is replaced by now
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
            _log.warning("the verdict cache %s is damaged (%s); starting anew", self._path, error)
            with contextlib.suppress(sqlite3.Error):
                self._reader.close()
            self._open_reader(damaged=True)
        elif not self._silent:
            self._silent = True
            _log.warning("the verdict cache %s cannot be used as it should: %s", self._path, error)

    def _open_reader(self, damaged: bool = False) -> None:
        self._reader = None
        self._epoch += 1
        with self._locks.all():
            for _ in range(2):
                try:
                    if damaged and self._inode in (0, _inode(self._path)):
                        _remove(self._path)
                    self._reader = _connect(self._path)
                    self._inode = _inode(self._path)
                except (sqlite3.Error, OSError) as error:
                    what = "is off" if damaged else "cannot be opened; starting anew"
                    _log.warning("the verdict cache %s %s: %s", self._path, what, error)
                    damaged, self._inode = True, 0
                else:
                    return


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, SCHEMA_VERSION):
            raise sqlite3.DatabaseError(f"made by another version of cascade-rl (format {found})")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # a power cut may cost the last ones
        connection.execute(f"PRAGMA journal_size_limit = {16_000_000}")
        if not found:
            connection.executescript(_TABLES)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _is_whole(key: bytes, used: object, crc: object, data: object) -> bool:
    return isinstance(used, int) and isinstance(data, bytes) and crc == zlib.crc32(key + data)


def _write(writer: sqlite3.Connection, entries: list[_Entry]) -> None:
    now = int(time.time())
    new = [(key, now, zlib.crc32(key + data), data) for key, data, _ in entries if data is not None]
    touched = [(now, key) for key, data, _ in entries if data is None]
    writer.execute("BEGIN IMMEDIATE")
    try:
        writer.executemany("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?)", new)
        writer.executemany("UPDATE verdicts SET used = ? WHERE key = ?", touched)
        writer.execute("COMMIT")
    except sqlite3.Error:
        with contextlib.suppress(sqlite3.Error):
            writer.execute("ROLLBACK")
        raise


def _evict(writer: sqlite3.Connection, max_bytes: int) -> None:
    if _live_bytes(writer) <= max_bytes:
        return
    while _live_bytes(writer) > 0.9 * max_bytes:
        count = writer.execute("SELECT count(*) FROM verdicts").fetchone()[0]
        if not count:
            return
        writer.execute(
            "DELETE FROM verdicts WHERE rowid IN "
            "(SELECT rowid FROM verdicts ORDER BY used, rowid LIMIT ?)",
            (max(1, min(2000, count // 10)),),
        )


def _live_bytes(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _inode(path: Path) -> int:
    return path.stat().st_ino if path.exists() else 0


def _remove(path: Path) -> None:
    for name in (f"{path.name}-wal", f"{path.name}-shm", path.name):
        path.with_name(name).unlink(missing_ok=True)
