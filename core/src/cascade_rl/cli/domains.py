"""``cascade domains``: what is installed, from metadata alone."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from cascade_rl.hooks import DOMAIN_GROUP, MODIFIER_GROUP
from cascade_rl.registry import Registry


def domains(
    check: Annotated[
        bool, typer.Option("--check", help="Load each pack too, and say what is wrong with it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the installed domains and reward modifiers. Imports nothing unless --check is given.

    Exit codes: 0 fine; 1 a pack is broken or two packs announce one name.
    """
    registry = Registry()
    rows = _rows(registry, check)
    if as_json:
        warnings = registry.discovery.warnings
        typer.echo(json.dumps({"packs": rows, "warnings": warnings}, indent=2))
    else:
        _print(rows, registry.discovery.warnings)
    raise typer.Exit(1 if any(row["problem"] for row in rows) else 0)


def _rows(registry: Registry, check: bool) -> list[dict[str, Any]]:
    rows = []
    for group in (DOMAIN_GROUP, MODIFIER_GROUP):
        problems = registry.check(group) if check else {}
        for name in registry.discovery.names(group):
            found = registry.discovery.named(group, name)
            twice = f"announced by {' and '.join(a.source for a in found)}"
            problem = problems.get(name) or (twice if len(found) > 1 else None)
            rows += [
                {
                    "kind": group.rpartition(".")[2].removesuffix("s"),
                    "name": a.name,
                    "distribution": a.distribution,
                    "version": a.version,
                    "value": a.value,
                    "problem": str(problem) if problem else None,
                }
                for a in found
            ]
    return rows


def _print(rows: list[dict[str, Any]], warnings: list[str]) -> None:
    if not rows:
        typer.echo("No domain is installed. Try: pip install cascade-rl-math")
    columns = ("kind", "name", "distribution", "version")
    widths = {c: max([len(c), *(len(r[c]) for r in rows)]) for c in columns}
    if rows:
        typer.echo("  ".join(c.ljust(widths[c]) for c in columns).rstrip())
    for row in rows:
        typer.echo("  ".join(row[c].ljust(widths[c]) for c in columns).rstrip())
        if row["problem"]:
            typer.echo(f"    broken: {row['problem']}")
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)
