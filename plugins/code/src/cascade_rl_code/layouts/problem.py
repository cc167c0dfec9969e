"""One problem of any data set, before it becomes a prompt, and how fields are taken from rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


class BadRow(ValueError):
    """A row cannot become a problem that can be judged; the text says why."""


@dataclass(frozen=True)
class Problem:
    """A problem's text, and its ground truth as plain JSON (see ``cascade_rl_code.truth``)."""

    text: str
    truth: dict[str, Any]
    solutions: tuple[str, ...] = ()
    id: str | None = None
    starter: str = ""
    mode: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def text_of(row: dict[str, Any], *names: str) -> str:
    """The first of these fields that holds text. Raises ``BadRow``."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return value
    found = ", ".join(sorted(map(str, row))) or "none"
    raise BadRow(f"no text in {' or '.join(names)}; the row has the fields {found}")


def optional(row: dict[str, Any], *names: str) -> str:
    """The first of these fields that holds text, or ""."""
    values = (row.get(name) for name in names)
    return next((v for v in values if isinstance(v, str) and v.strip()), "")


def decoded(value: Any, name: str) -> Any:
    """A field that is JSON in a string, as several data sets have it. Raises ``BadRow``."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise BadRow(f"{name} is not JSON: {error}") from error


def texts(value: Any) -> tuple[str, ...]:
    """The texts of a list (None: empty), without those that are blank."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Iterable):
        return ()
    return tuple(item for item in value if isinstance(item, str) and item.strip())
