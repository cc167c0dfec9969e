"""A JSON schema for a domain's ground truth: the pack's own, or what its examples show.

A pack may state ``GroundTruth``, a type, beside ``Options``. Nothing depends on it for scoring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

_NAMES: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    list: "array",
    dict: "object",
}
_SHOWN = 2


def ground_truth_schema(plugin: Any, seen: Sequence[Any]) -> dict[str, Any]:
    """The schema; ``seen`` are the ground truths of the pack's examples."""
    stated = getattr(plugin, "GroundTruth", None)
    schema = TypeAdapter(stated).json_schema() if stated is not None else infer(seen)
    if seen:
        distinct = list({repr(value): value for value in seen}.values())
        schema.setdefault("examples", distinct[:_SHOWN])
    return schema


def infer(values: Sequence[Any]) -> dict[str, Any]:
    """A schema that all the values fit; ``{}`` (anything) for none."""
    if not values:
        return {}
    names = sorted({_NAMES[type(value)] for value in values})
    schema: dict[str, Any] = {"type": names[0] if len(names) == 1 else names}
    objects = [value for value in values if isinstance(value, dict)]
    if objects:
        keys = sorted({key for value in objects for key in value})
        schema["properties"] = {k: infer([o[k] for o in objects if k in o]) for k in keys}
        required = [k for k in keys if all(k in o for o in objects)]
        if required:
            schema["required"] = required
    items = [item for value in values if isinstance(value, list) for item in value]
    if items:
        schema["items"] = infer(items)
    return schema


def takes_text(schema: dict[str, Any]) -> bool:
    """Whether a plain text can be a ground truth, as far as the schema tells."""
    names = schema.get("type")
    if names is None:
        return True
    return "string" in ([names] if isinstance(names, str) else names)
