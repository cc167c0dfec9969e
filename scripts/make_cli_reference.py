"""Writes docs/cli.md from the commands themselves. A test keeps the two equal."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.models import ArgumentInfo, OptionInfo

from cascade_rl.cli import BUILT_IN, HELP
from cascade_rl.hooks import COMMAND_GROUP
from cascade_rl.registry import Registry, import_plugin

TARGET = Path(__file__).parent.parent / "docs" / "cli.md"
HEAD = f"""# The command line

Generated from the commands; `python scripts/make_cli_reference.py` writes it. `cascade VERB --help`
says the same.

{HELP}
"""


def main() -> None:
    """Write the page."""
    TARGET.write_text(page())


def page() -> str:
    """The page's text: a section for each verb, those of installed distributions too."""
    registry = Registry()
    verbs = dict(BUILT_IN)
    for name in registry.discovery.names(COMMAND_GROUP):
        verbs[name] = (import_plugin(registry.announcement(COMMAND_GROUP, name)), None)
    return "\n".join([HEAD, *(_section(name, *verbs[name]) for name in sorted(verbs))])


def _section(name: str, function: Callable[..., Any], epilog: str | None) -> str:
    arguments, options = [], []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind, *extra = typing.get_args(parameter.annotation) or (parameter.annotation,)
        info = next((e for e in extra if isinstance(e, ArgumentInfo | OptionInfo)), OptionInfo())
        row = (parameter, kind, info)
        (arguments if isinstance(info, ArgumentInfo) else options).append(row)
    usage = " ".join(["cascade", name, *(_word(p, i) for p, _, i in arguments), "[OPTIONS]"])
    lines = [f"## cascade {name}", "", f"    {usage}", "", _text(function.__doc__)]
    rows = [f"| `{_word(p, i)}` | {_cell(i.help)} | |" for p, _, i in arguments if i.help]
    rows += [f"| `{_flags(p, k, i)}` | {_cell(i.help)} | {_default(p)} |" for p, k, i in options]
    if rows:
        lines += ["", "| | | default |", "|---|---|---|", *rows]
    if epilog:
        lines += ["", _text(epilog)]
    return "\n".join([*lines, ""])


def _word(parameter: inspect.Parameter, info: Any) -> str:
    return str(info.metavar or parameter.name.upper())


def _flags(parameter: inspect.Parameter, kind: Any, info: Any) -> str:
    first = [info.default] if isinstance(info.default, str) else []  # where typer keeps a lone one
    given = [*first, *(info.param_decls or ())]
    flags = ", ".join(given or [f"--{parameter.name.replace('_', '-')}"])
    if kind is bool:
        return flags
    return f"{flags} {info.metavar or _type(kind)}"


def _type(kind: Any) -> str:
    inner = [t for t in typing.get_args(kind) if t is not types.NoneType]
    return _type(inner[0]) if inner else {"str": "TEXT"}.get(kind.__name__, kind.__name__.upper())


def _default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is None or value is False or value is parameter.empty:
        return ""
    return f"`{value}`"


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def _text(text: str | None) -> str:
    return inspect.cleandoc(text or "").strip()


if __name__ == "__main__":
    main()
