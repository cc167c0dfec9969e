"""``cascade score``: a file of completions in, a file of verdicts out."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from cascade_rl.cli.options import parse_options
from cascade_rl.engine import RewardEngine
from cascade_rl.engine.records import read_requests, to_record
from cascade_rl.errors import DataError

EPILOG = """
Each input line is a JSON object: ground_truth and completion, and if you like id, prompt (text
or messages), mode (none, think, no_think), finish_reason (stop, length), budget, metadata.

Each output line, in the same order: id, score, correct, status, reason, extracted, components,
ms. A malformed line gives status "error" with its line number; score is null whenever status is
not "scored", never a stand-in 0.

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
) -> None:
    """Score a file of completions with one domain's reward."""
    options = parse_options(option or [])
    if output != Path("-") and output.exists() and source.exists() and output.samefile(source):
        raise DataError(f"output {output} is the input itself; name another file")
    counts: Counter[str] = Counter()
    with (
        RewardEngine(domain, options, workers=workers, timeout_s=timeout) as engine,
        _opened(source, "rb") as lines,
        _opened(output, "wb") as out,
    ):
        for identity, reward in engine.in_order(read_requests(lines)):
            out.write(json.dumps(to_record(identity, reward), allow_nan=False).encode() + b"\n")
            counts[reward.status] += 1
            counts["correct"] += reward.correct is True
    typer.echo(_summary(counts), err=True)
    raise typer.Exit(0 if set(counts) <= {"scored", "correct"} else 1)


def _summary(counts: Counter[str]) -> str:
    missed = {s: n for s, n in counts.items() if s not in ("scored", "correct") and n}
    text = f"{counts['scored']} scored, {counts['correct']} correct"
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
