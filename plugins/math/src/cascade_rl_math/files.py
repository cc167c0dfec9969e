"""Rows of local files and of hub datasets, each with its place for error messages.

Nothing here knows which fields a problem has. ``pyarrow`` and ``datasets`` are extras and
are imported where they are used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cascade_rl.errors import DataError
from cascade_rl.types import Split
from cascade_rl_math.options import Options

#: (place such as "train.jsonl:12", row)
Row = tuple[str, dict[str, Any]]

_HUB_SPLITS: dict[Split, tuple[str, ...]] = {
    "train": ("train",),
    "eval": ("test", "validation"),
}


def rows(split: Split, options: Options) -> Iterator[Row]:
    """The rows of a split, in the order of the file. Raises ``DataError``.

    A local ``path`` holds the train split; eval is ``eval_path``, or empty.
    """
    if options.hub is not None and (split == "train" or options.eval_path is None):
        yield from _hub(split, options)
        return
    name = options.path if split == "train" else options.eval_path
    if name is not None:
        yield from _local(Path(name).expanduser())


def _local(path: Path) -> Iterator[Row]:
    reader = _READERS.get(path.suffix)
    if reader is None:
        allowed = ", ".join(_READERS)
        raise DataError(f"{path}: cannot read files of type {path.suffix!r}; allowed: {allowed}")
    if not path.is_file():
        raise DataError(f"{path}: no such file; check the option `path` (or `eval_path`)")
    yield from reader(path)


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


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise DataError(
            f"{path}: reading parquet needs pyarrow; pip install 'cascade-rl-math[parquet]'"
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches():
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}:{number}", row
    except pyarrow.ArrowException as error:
        raise DataError(f"{path}: not a readable parquet file: {error}") from error


_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}


def _hub(split: Split, options: Options) -> Iterator[Row]:
    try:
        import datasets
    except ImportError as error:
        raise DataError(
            f"hub dataset {options.hub!r} needs the package `datasets`;"
            " pip install 'cascade-rl-math[hub]', or give a local `path`"
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
