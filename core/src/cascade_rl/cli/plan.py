"""``cascade plan``: every value of a cascade with its origin, and what is wrong. Trains nothing."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cascade_rl.cli.plan_text import render_findings, render_resolution, summary
from cascade_rl.config.check import check
from cascade_rl.config.findings import Finding
from cascade_rl.config.load import validate
from cascade_rl.config.overrides import apply_overrides
from cascade_rl.config.provenance import Values
from cascade_rl.config.resolve import DomainUse, Resolution, trace
from cascade_rl.config.source import SET, read_source
from cascade_rl.errors import CascadeError, ConfigError
from cascade_rl.hooks import BACKEND_GROUP
from cascade_rl.registry import Registry, import_plugin


def plan(
    cascade_file: Annotated[Path, typer.Argument(metavar="CASCADE.yaml", show_default=False)],
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Replace a value: seed=3, stages.math.steps=80, stages[1].steps=80, "
            "domains.math.options.digits=2. The value is YAML. Repeatable.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 for what cannot be verified here, too.")
    ] = False,
    backend: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Plan for this backend, and show what it adds."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a cascade would do: each stage, each value, and where the value came from.

    A value is the pack's default, unless the cascade file gives one (under domains.X, or under
    the stage, which is stronger), unless --set does. Then come the findings. wrong: it cannot
    run as written. unverified: it may be right, but not on this machine, such as a pack that is
    not installed, or a model on a hub; plan never uses the network. warning: it runs. Relative
    paths, in the file too, start from the working directory.

    Exit codes: 0 nothing wrong; 1 something is wrong, or, with --strict, unverified; 2 the file
    cannot be read.
    """
    try:
        source = read_source(cascade_file)
    except ConfigError as error:
        _fail(str(error), as_json)
        raise typer.Exit(2) from error
    resolution: Resolution | None = None
    registry = Registry()
    try:
        source = apply_overrides(source, overrides or [])
    except ConfigError as error:
        findings = [_override_finding(line) for line in str(error).splitlines()]
    else:
        config, findings = validate(source)
        if config is not None:
            resolution = trace(source, config, registry)
            findings = check(resolution, registry, backend)
    extra = _ask_backend(resolution, findings, registry, backend)
    if as_json:
        typer.echo(json.dumps(_as_json(source.file, resolution, findings, extra), indent=2))
    else:
        _print(resolution, findings, extra)
    kinds = {finding.kind for finding in findings}
    raise typer.Exit(1 if "wrong" in kinds or (strict and "unverified" in kinds) else 0)


def _fail(message: str, as_json: bool) -> None:
    if as_json:
        found = Finding(kind="wrong", where="", key="", text=message)
        typer.echo(json.dumps({"ok": False, "findings": [found.model_dump()]}, indent=2))
    else:
        typer.echo(f"error: {message}", err=True)


def _override_finding(line: str) -> Finding:
    return Finding(kind="wrong", where=SET, key="", text=line.removeprefix(f"{SET} "))


def _print(resolution: Resolution | None, findings: list[Finding], extra: str | None) -> None:
    if resolution is not None:
        typer.echo(render_resolution(resolution))
    if extra is not None:
        typer.echo(f"{extra.rstrip()}\n")
    if findings:
        typer.echo(f"{render_findings(findings)}\n")
    typer.echo(summary(resolution, findings))


def _ask_backend(
    resolution: Resolution | None,
    findings: list[Finding],
    registry: Registry,
    name: str | None,
) -> str | None:
    """What the backend adds (its ``plan(resolved) -> str``); may add a finding.

    What is only unverified here stops no plan: a stage whose pack is missing is shown as far as
    the file decides it (``Resolution.planned``).
    """
    if name is None:
        return None
    if resolution is None or any(finding.kind == "wrong" for finding in findings):
        return f"backend {name}: not asked before everything that is wrong is right"
    if name not in registry.discovery.names(BACKEND_GROUP):
        return f"backend {name}: not asked, as it is not installed here"
    try:
        backend: Any = import_plugin(registry.announcement(BACKEND_GROUP, name))
        if not callable(getattr(backend, "plan", None)):
            return f"backend {name}: has nothing more to show"
        instance: Any = backend() if inspect.isclass(backend) else backend
        return str(instance.plan(resolution.planned()))
    except CascadeError as error:
        findings.append(Finding(kind="wrong", where="--backend", key="", text=str(error)))
        return None


def _as_json(
    file: str, resolution: Resolution | None, findings: list[Finding], extra: str | None
) -> dict[str, Any]:
    wrong = any(finding.kind == "wrong" for finding in findings)
    report: dict[str, Any] = {"file": file, "ok": not wrong}
    if resolution is not None:
        report["values"] = _json_values(resolution.values)
        report["stages"] = [
            {
                "name": stage.stage.name,
                "kind": stage.stage.kind,
                "values": _json_values(stage.values),
                "domains": [_json_domain(use) for use in stage.domains],
            }
            for stage in resolution.stages
        ]
        report["evaluation"] = [_json_domain(use) for use in resolution.evaluation]
    if extra is not None:
        report["backend"] = extra
    report["findings"] = [finding.model_dump() for finding in findings]
    return report


def _json_domain(use: DomainUse) -> dict[str, Any]:
    version = use.domain.version if use.domain is not None else None
    return {"name": use.name, "version": version, "values": _json_values(use.values)}


def _json_values(values: Values) -> dict[str, Any]:
    from pydantic_core import to_jsonable_python

    return {
        key: {"value": to_jsonable_python(value.value, fallback=str), "origin": value.origin}
        for key, value in values.items()
    }
