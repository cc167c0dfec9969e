"""Writes docs/config.md from the models of the cascade file. A test keeps the two equal."""

from __future__ import annotations

import re
import types
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from cascade_rl.config.schema import CascadeConfig

TARGET = Path(__file__).parent.parent / "docs" / "config.md"
HEAD = """# The cascade file

Generated from `cascade_rl.config.schema`; `python scripts/make_config_reference.py` writes it.
Every key can be overridden: `--set stages.NAME.steps=80`. `cascade plan FILE` shows each value
and where it came from. A key in **bold** is required.
"""


def main() -> None:
    """Write the page."""
    TARGET.write_text(page())


def page() -> str:
    """The page's text: one section a model, in the order in which they are met."""
    todo, seen, sections = [CascadeConfig], set(), []
    while todo:
        model = todo.pop(0)
        if model in seen:
            continue
        seen.add(model)
        sections.append(_section(model))
        todo += [m for f in model.model_fields.values() for m in _models(f.annotation)]
    return "\n".join([HEAD, *sections])


def _section(model: type[BaseModel]) -> str:
    text = re.sub(r"\s+", " ", (model.__doc__ or "").replace("``", "`")).strip()
    rows = [_row(name, field) for name, field in model.model_fields.items()]
    table = ["| key | type | default | |", "|---|---|---|---|", *rows]
    return "\n".join([f"## {model.__name__}", "", text, "", *table, ""])


def _row(name: str, field: Any) -> str:
    key = f"**{name}**" if field.is_required() else name
    default = "" if field.is_required() else f"`{_default(field)}`"
    description = (field.description or "").replace("|", "\\|")
    return f"| {key} | {_type(field.annotation)} | {default} | {description} |"


def _default(field: Any) -> str:
    value = field.default if field.default is not PydanticUndefined else field.default_factory()
    if isinstance(value, BaseModel):
        return "{}"
    return {None: "none", (): "[]"}.get(value if not isinstance(value, dict) else "", str(value))


def _type(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin is typing.Literal:
        return " \\| ".join(f"`{a}`" for a in arguments)
    if origin in (typing.Union, types.UnionType):
        return " \\| ".join(_type(a) for a in arguments if a is not type(None))
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"{_type(arguments[0])}: {_type(arguments[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return getattr(annotation, "__name__", str(annotation))


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for a in typing.get_args(annotation) for m in _models(a)]


if __name__ == "__main__":
    main()
