"""``cascade new``: a repository for a domain pack or a reward modifier that already works."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from cascade_rl import __version__
from cascade_rl.errors import DataError
from cascade_rl.hooks import DOMAIN_GROUP, HOOK_VERSION, MODIFIER_GROUP
from cascade_rl.registry import Registry

EPILOG = """
The folder cascade-rl-NAME gets everything that a published package has: the pack, examples, a
test, a README, and workflows that test and publish it. Every file is yours to change; none is
read by cascade again.

Next: cd cascade-rl-NAME, pip install -e ., cascade check NAME.

Exit codes: 0 written; 2 the name or the place cannot be used.
"""
SUFFIX, HIDDEN = ".in", "dot_"


def new(
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits and _: haiku.")],
    as_class: Annotated[
        bool, typer.Option("--class", help="A class with Options, not a module of functions.")
    ] = False,
    modifier: Annotated[
        bool, typer.Option("--modifier", help="A reward modifier, not a domain.")
    ] = False,
    to: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where to make the new folder.")
    ] = Path(),
) -> None:
    """Write a new pack: complete, installable, and passing its own checks as it is."""
    if as_class and modifier:
        raise typer.BadParameter("--class and --modifier exclude each other")
    _check_name(name, modifier)
    target = to / f"cascade-rl-{name.replace('_', '-')}"
    if target.exists():
        raise DataError(f"{target} exists; delete it, or choose another name or --to FOLDER")
    words = {
        "name": name,
        "Name": "".join(part.capitalize() for part in name.split("_")),
        "distribution": target.name,
        "module": f"cascade_rl_{name}",
        "entry": f"cascade_rl_{name}",
        "check": f"cascade check {name}{' --modifier' if modifier else ''}",
        "card": "" if modifier else f"\n      - run: cascade check {name} --card",
        "hook_version": str(HOOK_VERSION),
        **_versions(),
    }
    if as_class:
        words["entry"] += f":{words['Name']}Domain"
    form = "class" if as_class else "module"
    for kind in ("common", "modifier") if modifier else ("common", "domain", form):
        _write(files("cascade_rl") / "scaffold" / kind, target, words)
    typer.echo(f"wrote {target}. Next:")
    for step in (f"cd {target}", "pip install -e .", words["check"]):
        typer.echo(f"  {step}")


def _check_name(name: str, modifier: bool) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise DataError(
            f"{name!r} cannot be a name: lower-case letters, digits and single _ between them, a "
            "letter first, and no word of Python's; e.g. haiku, unit_tests"
        )
    group = MODIFIER_GROUP if modifier else DOMAIN_GROUP
    taken = Registry().discovery.named(group, name)
    if taken:
        kind = "modifier" if modifier else "domain"
        raise DataError(
            f"a {kind} {name!r} is installed already ({taken[0].source}), and two of one name "
            f"cannot be used together; choose another, or: pip uninstall {taken[0].distribution}"
        )


def _versions() -> dict[str, str]:
    """The range of core that a pack written today asks for: this minor version."""
    major, minor = __version__.split(".")[:2]
    return {"core_from": f"{major}.{minor}", "core_below": f"{major}.{int(minor) + 1}"}


def _write(source: Traversable, target: Path, words: dict[str, str]) -> None:
    for entry in source.iterdir():
        plain = entry.name.removesuffix(SUFFIX)
        if plain.startswith(HIDDEN):  # hidden files would not reach a wheel everywhere
            plain = f".{plain.removeprefix(HIDDEN)}"
        place = target / _filled(plain, words)
        if entry.is_dir():
            _write(entry, place, words)
        elif entry.name.endswith(SUFFIX):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(_filled(entry.read_text(encoding="utf-8"), words), encoding="utf-8")


def _filled(text: str, words: dict[str, str]) -> str:
    """The text with each ``@word@`` replaced."""
    return re.sub(r"@(\w+)@", lambda found: words.get(found[1], found[0]), text)
