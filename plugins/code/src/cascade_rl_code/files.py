"""Rows of local files and of hub datasets, each with its place for error messages.

Nothing here knows which fields a problem has. ``pyarrow`` and ``datasets`` are extras and
are imported where they are used.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cascade_rl.errors import DataError
from cascade_rl.types import Split
from cascade_rl_code.options import Options

#: (place such as "train.jsonl:12", row)
Row = tuple[str, dict[str, Any]]

_HUB_SPLITS: dict[Split, tuple[str, ...]] = {
    "train": ("train",),
    "eval": ("test", "validation", "valid"),
}


def rows(split: Split, options: Options) -> Iterator[Row]:
    """The rows of a split, in the order of the file. Raises ``DataError``.

    A local ``path`` holds the train split; eval is ``eval_path``, or empty.
    """
    if options.hub is not None and (split == "train" or options.eval_path is None):
        yield from _hub(split, options)
        return
    path = options.path if split == "train" else options.eval_path
    if path is not None:
        yield from _local(path.expanduser())


def _local(path: Path) -> Iterator[Row]:
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    reader = _READERS.get(suffix)
    if reader is None:
        allowed = ", ".join(_READERS)
        raise DataError(f"{path}: cannot read files of type {suffix!r}; allowed: {allowed}")
    if not path.is_file():
        raise DataError(f"{path}: no such file; check the option `path` (or `eval_path`)")
    yield from reader(path)


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


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise DataError(
            f"{path}: reading parquet needs pyarrow; pip install 'cascade-rl-code[parquet]'"
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(batch_size=64):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}: row {number}", row
    except pyarrow.ArrowException as error:
        raise DataError(f"{path}: not a readable parquet file: {error}") from error


_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".jsonl": _jsonl,
    ".jsonl.gz": _jsonl,
    ".json": _json,
    ".parquet": _parquet,
}


def _hub(split: Split, options: Options) -> Iterator[Row]:
    try:
        import datasets
    except ImportError as error:
        raise DataError(
            f"hub dataset {options.hub!r} needs the package `datasets`;"
            " pip install 'cascade-rl-code[hub]', or give a local `path`"
        ) from error
    try:
        known = datasets.get_dataset_split_names(options.hub, options.hub_config)
        name = next((name for name in _HUB_SPLITS[split] if name in known), None)
        table = datasets.load_dataset(options.hub, options.hub_config, split=name) if name else ()
    except Exception as error:  # the hub client raises the errors of several libraries
        raise DataError(
            f"hub dataset {options.hub!r} cannot be loaded ({type(error).__name__}: {error});"
            " check the id and the network, or download the file and give it as `path`"
        ) from error
    if name is None and split == "train":
        raise DataError(f"hub dataset {options.hub!r} has no split 'train', only {known}")
    for number, row in enumerate(table, start=1):
        yield f"{options.hub}[{name}]:{number}", dict(row)
