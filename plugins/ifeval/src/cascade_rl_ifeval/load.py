"""Loading real prompts: rows of a source, converted, checked and counted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cascade_rl.errors import DataError
from cascade_rl.types import Prompt, Split
from cascade_rl_ifeval.options import Options
from cascade_rl_ifeval.records import convert
from cascade_rl_ifeval.rows import Row, hub_rows, jsonl_rows, parquet_rows

log = logging.getLogger(__name__)

_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "ifeval_jsonl": jsonl_rows,
    "ifrl_parquet": parquet_rows,
}
_SHOWN = 5


def load(split: Split, options: Options) -> list[Prompt]:
    """The prompts of a split, in the order of the file; [] for an eval split there is none of.

    Raises ``DataError`` when a place cannot be read, when nothing usable is in it, and, with
    ``defects: refuse``, when a row cannot be used; it names the first five rows. Findings of
    the data lint are logged and never stop a load.
    """
    rows = _rows(split, options)
    if rows is None:
        return []
    prompts, defects = _converted(rows, options)
    if defects:
        message = _message(defects)
        if options.defects == "refuse":
            raise DataError(f"{message}\nCorrect the file, or set `defects: skip`.")
        log.warning("left out: %s", message)
    if not prompts:
        raise DataError(f"{options.path or options.hub}: no prompts ({len(defects)} defects)")
    return prompts[: options.count]


def _rows(split: Split, options: Options) -> Iterable[Row] | None:
    path = options.path if split == "train" else options.eval_path
    if path is not None:
        return _READERS[options.source](path)
    if split == "train" and options.hub is not None:
        return hub_rows(options.hub, options.hub_split)
    return None


def _converted(rows: Iterable[Row], options: Options) -> tuple[list[Prompt], list[str]]:
    prompts: list[Prompt] = []
    defects: list[str] = []
    places: dict[str, str] = {}
    for place, row in rows:
        try:
            prompt = convert(row, options.source, options.mode)
        except ValueError as error:
            defects.append(f"{place}: {error}")
            continue
        if prompt.id in places:
            defects.append(f"{place}: id {prompt.id!r} is already at {places[prompt.id]}")
            continue
        places[prompt.id] = place
        for finding in _findings(prompt):
            log.warning("%s: %s (%s)", place, finding, prompt.id)
        prompts.append(prompt)
    return prompts, defects


def _findings(prompt: Prompt) -> list[object]:
    lint = prompt.metadata.get("lint", [])
    return list(lint) if isinstance(lint, list) else []


def _message(defects: list[str]) -> str:
    more = len(defects) - _SHOWN
    lines = [f"{len(defects)} rows cannot be used:", *defects[:_SHOWN]]
    return "\n  ".join([*lines, *([f"... and {more} more"] if more > 0 else [])])
