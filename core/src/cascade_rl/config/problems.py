"""pydantic's errors on a cascade in words of our own: what is wrong, what is allowed.

pydantic decides; nothing here validates, except that ``true`` is no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cascade_rl.config.allowed import (
    allowed_keys,
    choices,
    deeper_keys,
    describe,
    schema_at,
    takes,
)
from cascade_rl.config.schema import CascadeConfig
from cascade_rl.config.yaml_text import KeyPath
from cascade_rl.registry import nearest

_ABSENT = object()


class Problem(NamedTuple):
    """``kind`` "rule" is a rule over a whole section; the others are about one key."""

    path: KeyPath
    kind: Literal["missing", "unknown", "value", "rule"]
    text: str


def find_problems(data: Any) -> tuple[CascadeConfig | None, list[Problem]]:
    """The config, or what pydantic finds wrong with the data."""
    config = None
    problems: list[Problem] = []
    try:
        config = CascadeConfig.model_validate(data)
    except ValidationError as error:
        problems = list(_problems(error, data))
    problems.extend(_bools_for_numbers(data, ()))
    return (None, problems) if problems else (config, [])


def meant(path: KeyPath) -> list[str]:
    """The keys that a misspelt or misplaced one may stand for."""
    schema, word = schema_at(path[:-1]), str(path[-1])
    if schema is None:
        return []
    return deeper_keys(schema, word) or nearest(word, allowed_keys(schema), 1)


def _problems(error: ValidationError, data: Any) -> Iterator[Problem]:
    found = [(_path(item, data), item) for item in error.errors(include_url=False)]
    for path, item in found:
        kind: str = "unknown" if item["loc"][-1:] == ("[key]",) else item["type"]
        make = _MAKERS.get(kind)
        if make is not None:
            yield make(path, item)
        # The other branches of a union, and lists found "too short" for their bad items,
        # fail only because of what is reported below them.
        elif not any(len(p) > len(path) and p[: len(path)] == path for p, _ in found):
            yield _value(path, item)


def _path(item: ErrorDetails, data: Any) -> KeyPath:
    """The error's location without pydantic's markers for unions and keys."""
    path: KeyPath = ()
    for part in item["loc"]:
        below = _child(data, part)
        if below is not _ABSENT:
            path, data = (*path, part), below
        elif item["type"] == "missing":
            path, data = (*path, part), None
    return path


def _child(data: Any, part: str | int) -> Any:
    if isinstance(data, dict):
        return data.get(part, _ABSENT)
    if isinstance(data, list) and isinstance(part, int) and part < len(data):
        return data[part]
    return _ABSENT


def _value(path: KeyPath, item: ErrorDetails) -> Problem:
    schema = schema_at(path)
    if schema is not None:
        return Problem(path, "value", _must_be(schema, item["input"]))
    text = f"{item['msg'][:1].lower()}{item['msg'][1:]}, got {_shown(item['input'])}"
    return Problem(path, "value", text)


def _missing(path: KeyPath, _item: ErrorDetails) -> Problem:
    schema = schema_at(path)
    allowed = f"; must be {describe(schema)}" if schema else ""
    return Problem(path, "missing", f"is missing{allowed}")


def _unknown(path: KeyPath, _item: ErrorDetails) -> Problem:
    schema = schema_at(path[:-1])
    keys = allowed_keys(schema) if schema else []
    hints = " or ".join(repr(hint) for hint in meant(path))
    hint = f"; did you mean {hints}?" if hints else "."
    text = f"unknown key {path[-1]!r}{hint} Allowed: {', '.join(keys)}"
    return Problem(path, "unknown", text)


def _rule(path: KeyPath, item: ErrorDetails) -> Problem:
    return Problem(path, "rule", item["msg"].removeprefix("Value error, "))


_MAKERS: dict[str, Callable[[KeyPath, ErrorDetails], Problem]] = {
    "missing": _missing,
    "extra_forbidden": _unknown,
    "unknown": _unknown,
    "value_error": _rule,
}


def _bools_for_numbers(data: Any, path: KeyPath) -> Iterator[Problem]:
    """pydantic reads ``steps: true`` as 1; here it is a mistake."""
    if isinstance(data, bool):
        schema = schema_at(path)
        if schema and not takes(schema, "boolean") and not takes(schema, "string"):
            yield Problem(path, "value", _must_be(schema, data))
    elif isinstance(data, (dict, list)):
        for part, child in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _bools_for_numbers(child, (*path, part))


def _must_be(schema: dict[str, Any], value: Any) -> str:
    text = f"must be {describe(schema)}, got {_shown(value)}"
    if value is None:
        return f"{text}; fill it in, or remove the key"
    if isinstance(value, str):
        close = nearest(value, choices(schema), 1)
        return f"{text}; did you mean {close[0]!r}?" if close else text
    if isinstance(value, (bool, int, float)) and takes(schema, "string"):
        return f"{text}; put it in quotes"
    return text


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
