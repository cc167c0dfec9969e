"""Rows of problems: JSON lines and parquet, from a local file or a hub dataset."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from cascade_rl.errors import DataError
from cascade_rl.rows import Row, parquet_reader, read_rows
from cascade_rl.types import Split
from cascade_rl_math.options import Options

_DISTRIBUTION = "cascade-rl-math"


def rows(split: Split, options: Options) -> Iterator[Row]:
    """The rows of a split, in the order of the file. Raises ``DataError``."""
    return read_rows(split, options, _READERS, _DISTRIBUTION)


def _jsonl(path: Path) -> Iterator[Row]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            place = f"{path}:{number}"
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DataError(f"{place}: not a JSON object: {error}") from error
            if not isinstance(row, dict):
                raise DataError(f"{place}: not a JSON object but a {type(row).__name__}")
            yield place, row


_READERS = {".jsonl": _jsonl, ".parquet": parquet_reader(_DISTRIBUTION)}
