"""``cascade rescore``: what other options would have made of a run's stored rollouts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from cascade_rl.cli.options import parse_options
from cascade_rl.errors import DataError

if TYPE_CHECKING:
    from cascade_rl.replay.rescore import Judged

EPILOG = """
The file of --with holds any of these keys; what is left out stays as the run had it:

options: the pack's options, over those of the run

rewards: the stage's weighted terms, in full

overlong: mask, zero or keep

Without it, the installed version of the pack judges with the run's own options. Nothing is
written into the run folder.

Exit codes: 0 done, whatever has changed; 2 the run, the file or the pack cannot be used.

Example: cascade rescore runs/laptop --domain math --with strict.yaml
"""


def rescore(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    domain: Annotated[str, typer.Option(metavar="NAME", help="Whose RL stages to judge again.")],
    change: Annotated[
        Path | None, typer.Option("--with", metavar="FILE.yaml", help="What to judge with.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="One option, over those of the file; repeatable."),
    ] = None,
    stage: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this stage of the domain.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT.jsonl", help="A line for every sample."),
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Worker processes.")] = 1,
    timeout: Annotated[float, typer.Option(min=0.01, help="Seconds a sample.")] = 30.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Judge stored rollouts again: flipped verdicts, ranks, lost variance, shifted advantages."""
    from cascade_rl.replay.compare import compare
    from cascade_rl.replay.rescore import Change, Rescorer, read_change
    from cascade_rl.replay.run_folder import read_stages

    changed = read_change(change) if change else Change()
    options = {**changed.options, **parse_options(option or [])}
    changed = changed.model_copy(update={"options": options})
    stages = read_stages(run, domain)
    if stage is not None and stage not in [s.name for s in stages]:
        names = ", ".join(s.name for s in stages)
        raise DataError(f"{run} has no stage {stage!r} of domain {domain!r}; it has: {names}")
    found = []
    with ExitStack() as stack:
        out = stack.enter_context(output.open("w")) if output else None
        for record in stages:
            if stage in (None, record.name):
                with closing(
                    Rescorer(record, changed, workers=workers, timeout_s=timeout)
                ) as again:
                    found.append(compare(record.name, _kept(again.judge(record.rollouts()), out)))
    if as_json:
        typer.echo(json.dumps([c.model_dump(mode="json") for c in found], indent=2))
    else:
        typer.echo("\n".join(c.text() for c in found))


def _kept(judged: Iterable[Judged], out: IO[str] | None) -> Iterator[Judged]:
    from cascade_rl.replay.rescore import as_record

    for one in judged:
        if out is not None:
            out.write(json.dumps(as_record(one)) + "\n")
        yield one
