"""``cascade score``: a file of completions in, a file of verdicts out."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from cascade_rl.cli.options import parse_options
from cascade_rl.cli.progress import ScoreProgress
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.engine.quarantine import Replay, read_replay
from cascade_rl.engine.records import read_requests, to_record
from cascade_rl.errors import DataError
from cascade_rl.types import Reward

EPILOG = """
Each input line is a JSON object: ground_truth and completion, and if you like id, prompt (text
or messages), mode (none, think, no_think), finish_reason (stop, length), budget, metadata.

Each output line, in the same order: id, score, correct, status, reason, extracted, components,
ms. A malformed line gives status "error" with its line number; score is null whenever status is
not "scored", never a stand-in 0.

A replay file, which the engine writes for a sample that cost it two workers, is scored with the
options it holds.

Exit codes: 0 all lines scored; 1 some were not; 2 the input cannot be used at all.

Example: cascade score math answers.jsonl -o verdicts.jsonl
"""


def score(
    domain: Annotated[str, typer.Argument(help="A name that `cascade domains` lists.")],
    source: Annotated[Path, typer.Argument(metavar="IN.jsonl", help="Completions; - is stdin.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="OUT.jsonl", help="Verdicts; - is stdout.")
    ] = Path("-"),
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the domain's pack; repeatable."),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Worker processes; 0 scores in this process, unstoppably.")
    ] = 1,
    timeout: Annotated[float, typer.Option(min=0.01, help="Seconds a sample.")] = 30.0,
    memory_mb: Annotated[
        int | None, typer.Option(min=1, help="Megabytes a worker; Linux only. Default: no limit.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep verdicts here, and ask none of them twice."),
    ] = None,
    blame: Annotated[
        bool,
        typer.Option(
            "--blame",
            help="As in training: a completion that breaks the verifier twice is wrong where the "
            "prompt's gold completion passes. Default: it is not scored.",
        ),
    ] = False,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Score on a Ray cluster (`auto`: the one this machine is part of): `--workers` "
            "on every node. Needs cascade-rl[ray].",
        ),
    ] = None,
) -> None:
    """Score a file of completions with one domain's reward."""
    options = parse_options(option or [])
    if output != Path("-") and output.exists() and source.exists() and output.samefile(source):
        raise DataError(f"output {output} is the input itself; name another file")
    replay = _replay(domain, source)
    with (
        RewardEngine(
            domain,
            {**replay.options, **options} if replay else options,
            workers=workers,
            timeout_s=timeout,
            memory_mb=memory_mb,
            cache=cache,
            ray=ray,
            blame=blame,
        ) as engine,
        _opened(source, "rb") as lines,
        _opened(output, "wb") as out,
        ScoreProgress(source) as progress,
    ):
        counts = _write(engine, _items(replay, progress.lines(lines)), out, progress)
    typer.echo(_summary(counts), err=True)
    raise typer.Exit(0 if set(counts) <= {"scored", "correct"} else 1)


def _write(
    engine: RewardEngine,
    items: Iterator[tuple[Any, Item | Reward]],
    out: IO[bytes],
    progress: ScoreProgress,
) -> Counter[str]:
    """Score and write in order; how many samples ended how, and how many are correct."""
    counts: Counter[str] = Counter()
    for identity, reward in engine.in_order(items):
        out.write(json.dumps(to_record(identity, reward), allow_nan=False).encode() + b"\n")
        counts[reward.status] += 1
        if reward.correct is not None:
            counts["correct"] += reward.correct
        progress.answered(reward.status == "scored")
    return counts


def _replay(domain: str, source: Path) -> Replay | None:
    replay = read_replay(source) if source.is_file() else None
    if replay and replay.domain != domain:
        raise DataError(
            f"{source} is a replay file of domain {replay.domain!r}, not {domain!r}: "
            f"cascade score {replay.domain} {source}"
        )
    return replay


def _items(replay: Replay | None, lines: Iterator[bytes]) -> Iterator[tuple[Any, Item | Reward]]:
    if replay is None:
        return read_requests(lines)
    return iter([(replay.item.prompt.id, replay.item)])


def _summary(counts: Counter[str]) -> str:
    missed = {s: n for s, n in counts.items() if s not in ("scored", "correct") and n}
    text = f"{counts['scored']} scored"
    if "correct" in counts:  # a pack may give scores without saying what is right
        text += f", {counts['correct']} correct"
    if missed:
        text += f"; {sum(missed.values())} not scored: "
        text += ", ".join(f"{n} {status}" for status, n in sorted(missed.items()))
    return text


@contextmanager
def _opened(path: Path, mode: str) -> Iterator[IO[bytes]]:
    if path == Path("-"):
        yield sys.stdin.buffer if "r" in mode else sys.stdout.buffer
        return
    try:
        file = path.open(mode)
    except OSError as error:
        raise DataError(f"cannot open {path}: {error.strerror}") from error
    with file:
        yield file
