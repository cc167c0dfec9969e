"""Agreement of the pack's verdicts with stored ones of the official IFEval code.

    python benchmarks/ifeval_verdicts.py [FILE.jsonl.gz]

Each row holds a prompt, a response, ``instruction_id_list``, ``kwargs`` and, per
instruction, the verdicts ``strict`` and ``loose``. Prints agreement overall and per id,
every difference with the reason of ours, and the speed on one core. Not a test: exits 1
only when agreement is below ``--floor``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from cascade_rl_ifeval.language import warm_up
from cascade_rl_ifeval.verifier import BadLabel, Verdict, judge, requirements

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "ifeval.jsonl.gz"


class Difference(NamedTuple):
    """One instruction of one row where the two verdicts are not the same."""

    row: str
    instruction: str
    metric: str
    ours: bool | None
    theirs: bool
    why: str


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a gzipped JSON-lines file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def verdicts_of(row: dict[str, Any]) -> list[Verdict]:
    """Our verdicts on one row; [] when we refuse its label."""
    try:
        return judge(row["response"], requirements(row))
    except BadLabel:
        return []


def compare_row(row: dict[str, Any], verdicts: list[Verdict]) -> list[Difference]:
    """The differences of one row, for both metrics."""
    differences = []
    for k, name in enumerate(row["instruction_id_list"]):
        ours = verdicts[k] if verdicts else None
        for metric in ("strict", "loose"):
            mine = getattr(ours, metric) if ours else None
            if mine != row[metric][k]:
                why = (ours.fault or "followed") if ours else "label refused"
                differences.append(Difference(row["id"], name, metric, mine, row[metric][k], why))
    return differences


def report(rows: list[dict[str, Any]], differences: list[Difference]) -> dict[str, float]:
    """Print the tables; returns the share of equal verdicts per metric."""
    total = Counter(name for row in rows for name in row["instruction_id_list"])
    count = sum(total.values())
    by_id = Counter((d.instruction, d.metric) for d in differences)
    print(f"{len(rows)} rows, {count} instructions")
    print(f"{'instruction':46} {'n':>5} {'strict':>8} {'loose':>8}")
    for name, n in sorted(total.items()):
        equal = [1 - by_id[name, metric] / n for metric in ("strict", "loose")]
        print(f"{name:46} {n:5} {equal[0]:8.2%} {equal[1]:8.2%}")
    shares = {
        metric: 1 - sum(d.metric == metric for d in differences) / count
        for metric in ("strict", "loose")
    }
    print(f"{'all':46} {count:5} {shares['strict']:8.3%} {shares['loose']:8.3%}")
    for d in sorted(differences, key=lambda d: (d.instruction, d.row, d.metric)):
        print(f"  {d.row} {d.instruction} {d.metric}: ours {d.ours}, theirs {d.theirs} ({d.why})")
    return shares


def main() -> int:
    """Read, judge, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--floor", type=float, default=0.995, help="least share of equal verdicts")
    options = parser.parse_args()
    if not options.file.exists():
        parser.error(f"no such file: {options.file}")
    rows = read(options.file)
    warm_up()
    start = time.perf_counter()
    judged = [verdicts_of(row) for row in rows]
    seconds = time.perf_counter() - start
    differences = [d for row, v in zip(rows, judged, strict=True) for d in compare_row(row, v)]
    shares = report(rows, differences)
    instructions = sum(map(len, judged))
    print(f"{len(rows) / seconds:.0f} responses/s, {instructions / seconds:.0f} instructions/s, ")
    print("strict and loose (up to eight readings), one core, profiles loaded before")
    return int(min(shares.values()) < options.floor)


if __name__ == "__main__":
    raise SystemExit(main())
