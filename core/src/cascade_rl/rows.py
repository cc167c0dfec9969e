"""Rows of local files and of hub datasets, for packs: each with its place for error messages.

Nothing here knows which fields a row has. ``pyarrow`` and ``datasets`` are extras of the pack
and are imported where they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from cascade_rl.errors import DataError
from cascade_rl.types import Split

#: (place such as "train.jsonl:12", row)
Row = tuple[str, dict[str, Any]]
Reader = Callable[[Path], Iterator[Row]]

_HUB_SPLITS: dict[Split, tuple[str, ...]] = {
    "train": ("train",),
    "eval": ("test", "validation", "valid"),
}


class Places(Protocol):
    """The options that say where rows are."""

    @property
    def path(self) -> Path | str | None:
        """A local file: the train split."""

    @property
    def eval_path(self) -> Path | str | None:
        """A local file: the eval split."""

    @property
    def hub(self) -> str | None:
        """A dataset id."""

    @property
    def hub_config(self) -> str | None:
        """Which configuration of it."""


def read_rows(
    split: Split, places: Places, readers: Mapping[str, Reader], distribution: str
) -> Iterator[Row]:
    """The rows of a split, in the order of the file. Raises ``DataError``.

    A local ``path`` holds the train split; eval is ``eval_path``, or empty. ``readers`` maps a
    suffix (".jsonl", ".jsonl.gz") to its reader; ``distribution`` is the pack's, for the
    command that installs an extra.
    """
    if places.hub is not None and (split == "train" or places.eval_path is None):
        yield from _hub(split, places.hub, places.hub_config, distribution)
        return
    path = places.path if split == "train" else places.eval_path
    if path is not None:
        yield from _local(Path(path).expanduser(), readers)


def parquet_reader(distribution: str) -> Reader:
    """A reader of parquet files, in batches, for the pack of ``distribution``."""

    def read(path: Path) -> Iterator[Row]:
        try:
            import pyarrow
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise DataError(
                f"{path}: reading parquet needs pyarrow; pip install '{distribution}[parquet]'"
            ) from error
        try:
            with parquet.ParquetFile(path) as file:
                number = 0
                for batch in file.iter_batches(batch_size=1024):
                    for row in batch.to_pylist():
                        number += 1
                        yield f"{path}: row {number}", row
        except pyarrow.ArrowException as error:
            raise DataError(f"{path}: not a readable parquet file: {error}") from error

    return read


def _local(path: Path, readers: Mapping[str, Reader]) -> Iterator[Row]:
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    reader = readers.get(suffix)
    if reader is None:
        allowed = ", ".join(readers)
        raise DataError(f"{path}: cannot read files of type {suffix!r}; allowed: {allowed}")
    if not path.is_file():
        raise DataError(f"{path}: no such file; check the option `path` (or `eval_path`)")
    yield from reader(path)


def _hub(split: Split, hub: str, config: str | None, distribution: str) -> Iterator[Row]:
    try:
        import datasets
    except ImportError as error:
        raise DataError(
            f"hub dataset {hub!r} needs the package `datasets`; pip install '{distribution}[hub]', "
            "or give a local `path`"
        ) from error
    try:
        known = datasets.get_dataset_split_names(hub, config)
        name = next((name for name in _HUB_SPLITS[split] if name in known), None)
        table = datasets.load_dataset(hub, config, split=name) if name else ()
    except Exception as error:  # the hub client raises the errors of several libraries
        raise DataError(
            f"hub dataset {hub!r} cannot be loaded ({type(error).__name__}: {error});"
            " check the id and the network, or download the file and give it as `path`"
        ) from error
    if name is None and split == "train":
        raise DataError(f"hub dataset {hub!r} has no split 'train', only {known}")
    for number, row in enumerate(table, start=1):
        yield f"{hub}[{name}]:{number}", dict(row)
