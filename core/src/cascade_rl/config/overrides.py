"""``--set key=value``: what it means and how it changes a ``Source``.

A key is a dotted path; lists take an index (``stages[1].steps``), stages also their name
(``stages.math.steps``). The value is YAML. Sections that are missing are created.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cascade_rl.config.source import SET, Source
from cascade_rl.config.yaml_text import KeyPath, parse_yaml
from cascade_rl.errors import ConfigError
from cascade_rl.registry import did_you_mean

_KEY = re.compile(r"[^.\[\]\s]+(?:\.[^.\[\]\s]+|\[\d+\])*")
_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def apply_overrides(source: Source, overrides: Sequence[str]) -> Source:
    """A new source with the overrides applied in order; raises ``ConfigError`` for all at once."""
    problems = []
    for text in overrides:
        try:
            source = _apply(source, text)
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return source


def _apply(source: Source, text: str) -> Source:
    key, equals, value_text = text.partition("=")
    key = key.strip()
    if not equals or not _KEY.fullmatch(key):
        raise ConfigError(
            f"{SET} {text!r}: must be KEY=VALUE, such as seed=3, stages.math.steps=80 or "
            f"stages[1].steps=80"
        )
    value, _ = parse_yaml(value_text, f"{SET} {key}")
    data = copy.deepcopy(source.data)
    path = _locate(data, key)
    created = _put(data, path, value, key)
    lines = {p: line for p, line in source.lines.items() if p[: len(path)] != path}
    kept = {p for p in source.overridden if p[: len(path)] != path}
    return replace(
        source,
        data=data,
        lines={p: line for p, line in lines.items() if p not in created},
        overridden=frozenset({*kept, *created, *_below(value, path)}),
    )


def _locate(data: Any, key: str) -> KeyPath:
    parts: list[str | int] = [int(m[1]) if m[1] else m[2] for m in _PART.finditer(key)]
    path: KeyPath = ()
    index: str | int
    while parts:
        if isinstance(data, list):
            index, used = _index(data, parts, path, key)
        else:
            index, used = parts[0], 1
            if isinstance(index, int):
                raise ConfigError(f"{SET} {key}: {_dotted(path)} is not a list")
        path, parts = (*path, index), parts[used:]
        data = _child(data, index)
    return path


def _child(data: Any, index: str | int) -> Any:
    if isinstance(data, list) and isinstance(index, int):
        return data[index]
    return data.get(index) if isinstance(data, dict) else None


def _index(items: list[Any], parts: list[str | int], path: KeyPath, key: str) -> tuple[int, int]:
    """The list index that the first part or parts name, and how many they are."""
    first = parts[0]
    if isinstance(first, int):
        if first < len(items):
            return first, 1
        allowed = f"use 0 to {len(items) - 1}" if items else "the list is empty"
        raise ConfigError(f"{SET} {key}: {_dotted(path)} has no entry {first}; {allowed}")
    if path != ("stages",):
        raise ConfigError(f"{SET} {key}: {_dotted(path)} is a list; use {_dotted(path)}[0]")
    names = [str(item.get("name")) if isinstance(item, dict) else "" for item in items]
    for used in range(len(parts), 0, -1):  # a stage's name may hold dots
        name = ".".join(str(part) for part in parts[:used])
        if name in names:
            return names.index(name), used
    hint = did_you_mean(first, names, ".")
    raise ConfigError(f"{SET} {key}: no stage {first!r}{hint} Stages: {', '.join(names)}")


def _put(data: Any, path: KeyPath, value: Any, key: str) -> list[KeyPath]:
    """Set the value; returns the sections that had to be made."""
    created = []
    for depth, part in enumerate(path[:-1], start=1):
        child = _child(data, part)
        if child is None:
            child = data[part] = {}
            created.append(path[:depth])
        elif not isinstance(child, (dict, list)):
            raise ConfigError(
                f"{SET} {key}: {_dotted(path[:depth])} is {child!r}, which has no keys"
            )
        data = child
    data[path[-1]] = value
    return created


def _below(value: Any, path: KeyPath) -> list[KeyPath]:
    children: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [path, *(p for part, child in children for p in _below(child, (*path, part)))]


def _dotted(path: KeyPath) -> str:
    text = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)
    return text.removeprefix(".")
