"""``cascade sandbox check``: which limits and walls are real on this host, by trying."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer


def check(
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="auto, bubblewrap, docker, remote or none.")
    ] = "auto",
    image: Annotated[str | None, typer.Option(help="docker: the image.")] = None,
    docker_host: Annotated[
        str | None, typer.Option(help="docker: the engine's address, else DOCKER_HOST.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="remote: a SandboxFusion server.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run small hostile programs in a sandbox and print what it really enforces here.

    Exit codes: 0 every limit and wall held; 1 one did not, or there is no isolation; 2 no such
    sandbox can be opened here, and what to install.
    """
    from cascade_rl.sandbox import LANGUAGES, open_sandbox
    from cascade_rl.sandbox.selftest import self_test

    with open_sandbox(
        kind,  # type: ignore[arg-type]  # the function says which there are
        image=image,
        docker_host=docker_host,
        url=url,
    ) as sandbox:
        isolation = sandbox.isolation
        if not as_json:
            _print_isolation(isolation)
        findings = []
        for finding in self_test(sandbox):
            findings.append(finding)
            if not as_json:
                _print_finding(asdict(finding))
        absent = sorted(set(LANGUAGES) - set(sandbox.languages()))
    ok = all(finding.ok for finding in findings) and isolation.level != "none"
    if as_json:
        report = {
            "ok": ok,
            "backend": isolation.backend,
            "level": isolation.level,
            "enforced": dict(isolation.enforced),
            "findings": [asdict(finding) for finding in findings],
            "absent_languages": absent,
        }
        typer.echo(json.dumps(report, indent=2))
    else:
        if absent:
            typer.echo(f"\nno compiler found for: {', '.join(absent)}")
        failed = sum(not finding.ok for finding in findings)
        typer.echo(f"\n{len(findings)} checks, {failed} failed; isolation: {isolation.level}")
    raise typer.Exit(0 if ok else 1)


def _print_isolation(isolation: Any) -> None:
    typer.echo(f"backend: {isolation.backend}    isolation: {isolation.level}")
    for name, how in isolation.enforced.items():
        typer.echo(f"  {name:12}{how}")
    typer.echo("")


def _print_finding(finding: dict[str, Any]) -> None:
    mark = "ok    " if finding["ok"] else "FAILED"
    typer.echo(f"{mark}  {finding['name']:26}{finding['detail']}".rstrip())
    if finding["cure"]:
        typer.echo(f"        {finding['cure']}")


def add_to(app: typer.Typer) -> None:
    """Add ``cascade sandbox`` with its verbs."""
    group = typer.Typer(
        help="Run untrusted programs: what holds on this host.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.callback()(lambda: None)
    group.command("check")(check)
    app.add_typer(group, name="sandbox")
