"""Append-only JSONL logs (metrics, rollouts) that can be cut back to a checkpoint.

A checkpoint stores each log's ``position``; what a killed run wrote after it is cut off at
resume, so that no step is logged twice and none is half written.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cascade_rl.errors import DataError, RunError
from cascade_rl_trainer.state.files import sync_folder


class JsonLog:
    """One JSON object a line. Pure ASCII, so that any text survives, lone surrogates too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        sync_folder(path.parent)
        _drop_half_line(path)

    def append(self, record: Mapping[str, Any]) -> None:
        """Add one record; it reaches the disk with the next ``flush`` or ``position``.

        NaN and infinity, which JSON lacks, are written as the strings "NaN", "Infinity" and
        "-Infinity": null would read as "not measured".
        """
        line = json.dumps(_spell_out(record), allow_nan=False, separators=(",", ":"))
        self._file.write(line.encode() + b"\n")

    def flush(self) -> None:
        """Hand what was appended to the system, for anybody who reads along."""
        self._file.flush()

    def position(self) -> int:
        """The log's length in bytes, once everything appended is safely on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.seek(0, os.SEEK_END)

    def cut(self, position: int) -> None:
        """Forget everything past a ``position``; raises ``RunError`` if the log is too short."""
        length = self.position()
        if length < position or not _ends_a_line(self.path, position):
            raise RunError(
                f"{self.path}: its checkpoint was made when it had {position} bytes, all whole "
                f"lines; it has {length} now. The log was changed by hand or by another program: "
                "restore it, or remove the stage's folder to start the stage again."
            )
        self._file.truncate(position)
        self.position()

    def close(self) -> None:
        """Flush and close."""
        self._file.close()


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a log; a half-written last line is left out, an absent log is empty.

    Raises ``DataError`` for any other line that is not a JSON object.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            yield parse_line(path, line, f"line {number}")


def parse_line(path: Path, line: bytes, place: str) -> dict[str, Any]:
    """One line of a log; raises ``DataError`` that names ``path`` and ``place``."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise DataError(f"{path}, {place}: not JSON ({error}): {line[:60]!r}") from error
    if not isinstance(record, dict):
        raise DataError(f"{path}, {place}: expected a JSON object, got {line[:60]!r}")
    return record


def _spell_out(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _spell_out(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spell_out(item) for item in value]
    return value


def _ends_a_line(path: Path, position: int) -> bool:
    if position == 0:
        return True
    with path.open("rb") as file:
        file.seek(position - 1)
        return file.read(1) == b"\n"


def _drop_half_line(path: Path) -> None:
    """Cut a last line that a kill left without its newline."""
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        keep = end
        while keep > 0:
            start = max(0, keep - 65536)
            file.seek(start)
            newline = file.read(keep - start).rfind(b"\n")
            if newline >= 0:
                keep = start + newline + 1
                break
            keep = start
        if keep < end:
            file.truncate(keep)
