"""``cascade check``: the conformance kit for a pack, and its verdict card."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from cascade_rl.cli.options import parse_options
from cascade_rl.errors import DataError
from cascade_rl.hooks import DOMAIN_GROUP
from cascade_rl.registry import Registry, did_you_mean

EPILOG = """
Checks that wait for a failed one are not run. A check that has nothing to look at is skipped,
with what would help. Every failing line says what was given, what came back, what was expected,
and the command that runs just that check again.

--card judges the pack's gold completions, its examples and the lines of --labelled instead, and
writes card.json and CARD.md beside the pack's pyproject.toml. A card that is worse than the one
there (more false positives, false negatives or unscored) is not written.

Exit codes: 0 nothing failed, the card is no worse; 1 a check failed, the card is worse; 2 there
is nothing of that name, or it cannot be used at all.

Example: cascade check haiku --only gold
"""


def check(
    name: Annotated[str, typer.Argument(help="A name that `cascade domains` lists.")],
    only: Annotated[
        list[str] | None, typer.Option(metavar="CHECK", help="Run just this check; repeatable.")
    ] = None,
    modifier: Annotated[
        bool, typer.Option("--modifier", help="NAME is a reward modifier, not a domain.")
    ] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the pack; repeatable."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.01, help="Most seconds a completion.")] = 10.0,
    memory_mb: Annotated[
        float, typer.Option(min=1, help="Most megabytes of growth a completion.")
    ] = 1000.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    card: Annotated[
        bool, typer.Option("--card", help="Measure false verdicts and times; write the card.")
    ] = False,
    card_to: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where the card lies; default: the pack's project."),
    ] = None,
    labelled: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="For --card: lines as for `score`, with `label`."),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="For --card: write it even where it is worse.")
    ] = False,
) -> None:
    """Check a domain pack or a reward modifier: what any trainer will rely on."""
    options = parse_options(option or [])
    limits = {"timeout_s": timeout, "memory_mb": memory_mb}
    if card or card_to is not None or labelled is not None:
        _card(name, options, card_to, labelled, accept, as_json, limits)
        return
    again = " ".join(
        ["cascade check", name, *(["--modifier"] if modifier else [])]
        + [f"--option {pair}" for pair in option or []]
    )
    report = _run(name, modifier, options, only or [], again, limits)
    typer.echo(report.model_dump_json(indent=2) if as_json else report.text())
    raise typer.Exit(0 if report.ok else 1)


def _run(
    name: str,
    modifier: bool,
    options: dict[str, Any],
    only: list[str],
    again: str,
    limits: dict[str, float],
) -> Any:
    from cascade_rl.testing import domain_kit, modifier_kit

    known = list(modifier_kit.CHECKS if modifier else domain_kit.CHECKS)
    for word in only:
        if word not in known:
            hint = did_you_mean(word, known)
            raise typer.BadParameter(f"no check {word!r}{hint} Checks: {', '.join(known)}")
    run = modifier_kit.check_modifier if modifier else domain_kit.check_domain
    return run(name, options, only, again, **limits)


def _card(
    name: str,
    options: dict[str, Any],
    folder: Path | None,
    labelled: Path | None,
    accept: bool,
    as_json: bool,
    limits: dict[str, float],
) -> None:
    from cascade_rl.testing.card import MARKDOWN_NAME, measure, read_card, worse, write_card

    folder = folder or _project(name)
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; --card-to names one that exists")
    if labelled is not None and not labelled.is_file():
        raise DataError(f"cannot read {labelled}: there is no such file")
    old, new = read_card(folder), measure(name, options, labelled, **limits)
    lost = worse(old, new) if old else []
    typer.echo(new.model_dump_json(indent=2) if as_json else new.markdown())
    if lost and not accept:
        typer.echo(f"worse than {folder / MARKDOWN_NAME}: {'; '.join(lost)}", err=True)
        raise typer.Exit(1)
    write_card(folder, new)


def _project(name: str) -> Path:
    """The folder with the ``pyproject.toml`` of the pack's distribution."""
    announcement = Registry().announcement(DOMAIN_GROUP, name)
    top = announcement.value.partition(":")[0].partition(".")[0]
    spec = importlib.util.find_spec(top)
    start = Path(spec.origin).parent if spec and spec.origin else None
    for parent in [start, *start.parents] if start else []:
        file = parent / "pyproject.toml"
        if file.is_file():
            project = tomllib.loads(file.read_text()).get("project", {})
            if project.get("name") == announcement.distribution:
                return parent
    raise DataError(
        f"domain {name!r} is not installed from a project folder, so its card has no place: give "
        "one with --card-to, or install the pack with pip install -e"
    )
