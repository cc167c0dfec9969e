"""``cascade run``: train a cascade, or go on with one that was stopped."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from cascade_rl.config import check, load_config, output_folder, trace
from cascade_rl.config.resolved import ResolvedCascade
from cascade_rl.errors import ConfigError
from cascade_rl.hooks import BACKEND_GROUP
from cascade_rl.registry import Registry, import_plugin
from cascade_rl_trainer.backend import Backend


def run(
    cascade_file: Annotated[Path, typer.Argument(help="The cascade file (YAML).")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a value; repeatable."),
    ] = None,
    backend: Annotated[str | None, typer.Option(help="Override the file's backend.")] = None,
    fork: Annotated[
        str | None,
        typer.Option(metavar="STAGE", help="Start anew from this stage; keep those before it."),
    ] = None,
) -> None:
    """Train a cascade stage by stage; run it again to go on after a stop.

    Writes to the file's `output` folder: matrix.json (the forgetting matrix), report.html, and
    for every stage its model, metrics.jsonl and rollouts.jsonl. A finished run is recognised.
    If the cascade file, a pack, the data or a library has changed since, it is refused with
    what changed.

    Exit codes: 0 finished; 2 it cannot start, go on, or a gate stopped it; 130 interrupted.
    """
    overrides = [*(set_ or []), *([f"backend={backend}"] if backend else [])]
    registry = Registry()
    cascade = load_cascade(cascade_file, overrides, registry)
    try:
        train(cascade, registry, fork)
    except KeyboardInterrupt:
        typer.echo("Stopped. The same command goes on from the last checkpoint.", err=True)
        raise typer.Exit(130) from None


def load_cascade(path: Path, overrides: list[str], registry: Registry) -> ResolvedCascade:
    """Read, resolve and check a file; raises ``CascadeError`` for what ``plan`` calls wrong."""
    source, config = load_config(path, overrides)
    resolution = trace(source, config, registry)
    # What plan cannot verify without the network (a hub id), the run finds out by loading it;
    # a pack that is not installed is an error of `resolution.cascade()`.
    findings = [f for f in check(resolution, registry) if f.kind == "wrong"]
    if findings:
        listed = "\n".join(f"  {finding}" for finding in findings)
        raise ConfigError(f"{path} cannot be run (see `cascade plan {path}`):\n{listed}")
    return resolution.cascade()


def train(cascade: ResolvedCascade, registry: Registry, fork: str | None) -> None:
    """Run a resolved cascade with its progress shown; prints the matrix at the end."""
    from cascade_rl_trainer.local.backend import device_of
    from cascade_rl_trainer.local.threads import set_threads
    from cascade_rl_trainer.report.text import to_text
    from cascade_rl_trainer.run.data import take_fingerprint
    from cascade_rl_trainer.run.display import Display
    from cascade_rl_trainer.run.walk import run_cascade

    config, started = cascade.config, time.monotonic()
    chosen: Backend = import_plugin(registry.announcement(BACKEND_GROUP, config.backend))()
    fingerprint = take_fingerprint(
        cascade, registry, set_threads(config.threads), device_of(config)
    )
    folder = output_folder(config)
    with Display([(s.stage.name, s.config.steps) for s in cascade.stages]) as display:
        outcome = run_cascade(
            cascade,
            chosen,
            fingerprint,
            folder,
            fork=fork,
            on_step=display.on_step,
            say=display.say,
        )
    if outcome.already_finished:
        typer.echo(f"{folder} holds this run, finished; nothing to do.")
    typer.echo(to_text(outcome.matrix))
    if not outcome.already_finished:
        typer.echo(f"{time.monotonic() - started:.0f} s in this process.")
    typer.echo(f"Report: {outcome.report}")
