"""Raw rows of a data file or a hub dataset, each with the place it stands at. No checks.

pyarrow and datasets are imported when they are needed and named when they are missing.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from cascade_rl.errors import DataError

#: Where a row stands ("data.jsonl:12"), and the row.
Row = tuple[str, Any]


def jsonl_rows(path: Path) -> Iterator[Row]:
    """The rows of a JSON-lines file (``.gz`` too); blank lines are skipped.

    A line that is not JSON is yielded as its ``ValueError``, for the caller's policy.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield f"{path}:{number}", _parsed(line)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as JSON lines: {error}") from error


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return ValueError(f"not JSON: {error}")


def parquet_rows(path: Path) -> Iterator[Row]:
    """The rows of a parquet file, counted from 1."""
    parquet = _needed("pyarrow.parquet", "pyarrow", "parquet")
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    try:
        with parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(batch_size=1024):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}: row {number}", row
    except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
        raise DataError(f"{path}: cannot be read as parquet: {error}") from error


def hub_rows(dataset: str, split: str) -> Iterator[Row]:
    """The rows of one split of a hub dataset, counted from 1."""
    datasets = _needed("datasets", "datasets", "hub")
    try:
        rows = datasets.load_dataset(dataset, split=split)
    except Exception as error:  # the hub client raises many kinds, none of them common to all
        raise DataError(
            f"hub dataset {dataset!r}, split {split!r}: cannot be loaded: "
            f"{type(error).__name__}: {error}. Without network, download the file elsewhere and "
            "set `path` instead of `hub`."
        ) from error
    for number, row in enumerate(rows, start=1):
        yield f"{dataset}[{split}]: row {number}", row


def _needed(module: str, package: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise DataError(
            f"{package} is not installed; run: pip install 'cascade-rl-ifeval[{extra}]'"
        ) from error
