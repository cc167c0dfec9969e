"""What the cascade schema allows at a path, in words; read from the models' JSON schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from cascade_rl.config.schema import CascadeConfig
from cascade_rl.config.yaml_text import KeyPath

Schema = dict[str, Any]


def schema_at(path: KeyPath) -> Schema | None:
    """The JSON schema of the value at ``path``; None where the path leads nowhere."""
    found: Schema | None = _root()
    for part in path:
        found = _step(found, part) if found is not None else None
    return found


def allowed_keys(schema: Schema) -> list[str]:
    """The keys of a section, or of a mapping whose keys are fixed; [] where any goes."""
    for variant in _variants(schema):
        if "properties" in variant:
            return list(variant["properties"])
        if "propertyNames" in variant:
            return list(variant["propertyNames"].get("enum", []))
    return []


def deeper_keys(schema: Schema, key: str) -> list[str]:
    """``section.key`` for each section below ``schema`` that has this key."""
    sections = ((name, _step(schema, name)) for name in allowed_keys(schema))
    return [f"{name}.{key}" for name, below in sections if below and key in allowed_keys(below)]


def required_keys(schema: Schema) -> set[str]:
    """The keys that have no default."""
    return {key for variant in _variants(schema) for key in variant.get("required", ())}


def choices(schema: Schema) -> list[str]:
    """The words of which the value must be one; [] where it is not a choice."""
    return [word for variant in _variants(schema) for word in variant.get("enum", ())]


def takes(schema: Schema, kind: str) -> bool:
    """Whether a value of this JSON type ("boolean", "string") is allowed."""
    return any(variant.get("type") in (kind, None) for variant in _variants(schema))


def title(schema: Schema) -> str:
    """The name of the model that a section is, "" for anything else."""
    return next((str(v["title"]) for v in _variants(schema) if "properties" in v), "")


def describe(schema: Schema) -> str:
    """A phrase that completes "must be"."""
    phrases = [_phrase(v) for v in _variants(schema) if v.get("type") != "null"]
    return ", or ".join(dict.fromkeys(phrases))


@cache
def _root() -> Schema:
    return CascadeConfig.model_json_schema()


def _variants(schema: Schema) -> Iterator[Schema]:
    if "$ref" in schema:
        yield from _variants(_root()["$defs"][schema["$ref"].rpartition("/")[2]])
    elif "anyOf" in schema:
        for variant in schema["anyOf"]:
            yield from _variants(variant)
    else:
        yield schema


def _step(schema: Schema, part: str | int) -> Schema | None:
    for variant in _variants(schema):
        if isinstance(part, int):
            prefix = variant.get("prefixItems", [])
            below = prefix[part] if part < len(prefix) else variant.get("items")
        else:
            below = variant.get("properties", {}).get(part) or variant.get("additionalProperties")
        if isinstance(below, dict):
            return below
    return None


def _phrase(schema: Schema) -> str:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    phrase = _PHRASES.get(schema.get("type", ""))
    return phrase(schema) if phrase else "any value"


def _number(noun: str) -> Callable[[Schema], str]:
    def phrase(schema: Schema) -> str:
        low, high = schema.get("minimum"), schema.get("maximum")
        above = schema.get("exclusiveMinimum")
        if low is not None and high is not None:
            return f"{noun} from {low:g} to {high:g}"
        bounds = [
            f"above {above:g}" if above is not None else "",
            f"of at least {low:g}" if low is not None else "",
            f"at most {high:g}" if high is not None else "",
        ]
        text = " and ".join(bound for bound in bounds if bound)
        return f"{noun} {text}".strip()

    return phrase


def _text(schema: Schema) -> str:
    if "pattern" in schema:
        return "a name of letters, digits, '_', '-' and '.' that starts with a letter or digit"
    return "text"


def _list(schema: Schema) -> str:
    if "prefixItems" in schema:
        items = schema["prefixItems"]
        return f"a list of {len(items)} values, each {describe(items[0])}"
    least = schema.get("minItems")
    count = f" of at least {least}" if least else ""
    return f"a list{count}, each entry {describe(schema['items'])}"


def _mapping(schema: Schema) -> str:
    if "properties" in schema:
        return f"a section with keys among {', '.join(schema['properties'])}"
    values = schema.get("additionalProperties")
    names = schema.get("propertyNames")
    key = describe(names) if names and "enum" in names else "name"
    return f"a mapping of {key} to {describe(values)}" if values else "a mapping"


_PHRASES: dict[str, Callable[[Schema], str]] = {
    "integer": _number("a whole number"),
    "number": _number("a number"),
    "boolean": lambda _schema: "true or false",
    "string": _text,
    "array": _list,
    "object": _mapping,
}
