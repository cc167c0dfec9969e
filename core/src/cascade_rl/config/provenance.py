"""Values that remember who gave them, and the rule by which layers replace each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cascade_rl.config.source import Source
from cascade_rl.config.yaml_text import KeyPath
from cascade_rl.types import Record

DEFAULT = "default"


class Traced(NamedTuple):
    """A value and its origin: "laptop.yaml:23", "--set", "pack math 0.1.0" or "default".

    ``path`` is the key in the cascade file that gave it, None where no key did.
    """

    value: Any
    origin: str
    path: KeyPath | None = None


Values = dict[str, Traced]


def trace_key(source: Source, path: KeyPath, value: Any) -> Traced:
    """The value with the origin of its key, or the schema's default."""
    origin = source.origin(path)
    return Traced(value, DEFAULT) if origin is None else Traced(value, origin, path)


def trace_model(
    source: Source, model: Record, path: KeyPath, skip: frozenset[str] = frozenset(), at: str = ""
) -> Values:
    """Every value of a part of the config under its dotted key; sections are walked into."""
    values: Values = {}
    for name in type(model).model_fields:
        key, value = f"{at}{name}", getattr(model, name)
        if key in skip:
            continue
        if isinstance(value, Record):
            values |= trace_model(source, value, (*path, name), skip, f"{key}.")
        else:
            values[key] = trace_key(source, (*path, name), value)
    return values


def layer(source: Source, layers: Sequence[tuple[KeyPath, Mapping[str, Any]]]) -> Values:
    """Merge sections key by key, weakest first; whatever ``--set`` gave beats the file.

    Below a key nothing is merged: an option that is a mapping is replaced whole.
    """
    given = [
        (source.is_set((*path, key)), strength, key, value, path)
        for strength, (path, section) in enumerate(layers)
        for key, value in section.items()
    ]
    given.sort(key=lambda item: item[:2])
    return {key: trace_key(source, (*path, key), value) for _, _, key, value, path in given}
