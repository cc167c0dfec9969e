"""``--option key=value`` arguments."""

from __future__ import annotations

from typing import Any

import typer
import yaml


def parse_options(pairs: list[str], flag: str = "--option") -> dict[str, Any]:
    """``["a=1", "b.c=x"]`` to ``{"a": 1, "b": {"c": "x"}}``; values are YAML.

    Raises ``typer.BadParameter``.
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{flag} takes key=value, got {pair!r}")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise typer.BadParameter(f"{flag} {key}: {text!r} is not a YAML value") from error
        *parents, last = key.split(".")
        place = options
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise typer.BadParameter(f"{flag} {pair!r} contradicts another {flag}")
        place[last] = value
    return options
