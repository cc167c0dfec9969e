"""Rows of problems: JSON lines, JSON and parquet, from a local file or a hub dataset."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cascade_rl.errors import DataError
from cascade_rl.rows import Row, parquet_reader, read_rows
from cascade_rl.types import Split
from cascade_rl_code.options import Options

_DISTRIBUTION = "cascade-rl-code"


def rows(split: Split, options: Options) -> Iterator[Row]:
    """The rows of a split, in the order of the file. Raises ``DataError``."""
    return read_rows(split, options, _READERS, _DISTRIBUTION)


def _jsonl(path: Path) -> Iterator[Row]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    place = f"{path}:{number}"
                    yield place, _object(place, _parsed(place, line))
    except (OSError, EOFError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def _json(path: Path) -> Iterator[Row]:
    table = _parsed(str(path), path.read_bytes())
    if not isinstance(table, list):
        raise DataError(f"{path}: a list of objects is read, this is a {type(table).__name__}")
    for number, row in enumerate(table, start=1):
        place = f"{path}: row {number}"
        yield place, _object(place, row)


def _parsed(place: str, text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: not JSON: {error}") from error


def _object(place: str, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise DataError(f"{place}: not a JSON object but a {type(row).__name__}")
    return row


_READERS = {
    ".jsonl": _jsonl,
    ".jsonl.gz": _jsonl,
    ".json": _json,
    ".parquet": parquet_reader(_DISTRIBUTION),
}
