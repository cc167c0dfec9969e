"""The maths reward against verdicts that people wrote: accuracy, errors by kind, speed.

    python benchmarks/math_verdicts.py [CORPORA_FOLDER] [--show]

Reads ``math_human``, ``math_issues`` and ``math_solutions`` (.jsonl.gz; fields gold, pred,
expected), by default from ``<repository>/../shared/corpora``. A prediction without a box is
put into one, unless it is a whole response. Rows that the pack leaves unscored count as
errors, not as wrong verdicts. ``--show`` lists every row that went wrong.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cascade_rl_math as pack
from cascade_rl.types import Completion, Prompt, Reward

CORPORA = ("math_human", "math_issues", "math_solutions")
DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "corpora"


def main() -> None:
    """Print one line for each corpus that is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--show", action="store_true", help="list the rows that went wrong")
    arguments = parser.parse_args()
    options = pack.Options(source="problem_answer", path="unused.jsonl")
    pack.open(options)
    print(f"{'corpus':16}{'rows':>6}{'accuracy':>10}{'false+':>8}{'false-':>8}{'errors':>8}"
          f"{'verdicts/s':>12}{'p50 ms':>9}{'p99 ms':>9}")  # fmt: skip
    for corpus in CORPORA:
        path = arguments.folder / f"{corpus}.jsonl.gz"
        if path.is_file():
            report(corpus, list(rows(path)), options, arguments.show)
        else:
            print(f"{corpus:16}  not there: {path}")
    pack.close()


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of one corpus."""
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


def report(corpus: str, corpus_rows: list[dict[str, Any]], options: Any, show: bool) -> None:
    """Score a corpus and print its line."""
    kinds: Counter[str] = Counter()
    times: list[float] = []
    for row in corpus_rows:
        started = time.perf_counter()
        reward = score(row, options)
        times.append(time.perf_counter() - started)
        kind = kind_of(reward, row["expected"])
        kinds[kind] += 1
        if show and kind != "right":
            print(f"  {kind:8} {row['id']}  {row['gold'][-60:]!r}  {row['pred'][-60:]!r}"
                  f"  {reward.reason[:80]}")  # fmt: skip
    times.sort()
    count = len(times)
    print(f"{corpus:16}{count:6}{kinds['right'] / count:10.3f}{kinds['false+']:8}"
          f"{kinds['false-']:8}{kinds['error']:8}{count / sum(times):12.0f}"
          f"{times[count // 2] * 1e3:9.2f}{times[int(count * 0.99)] * 1e3:9.2f}")  # fmt: skip


def score(row: dict[str, Any], options: Any) -> Reward:
    """The pack's reward for one row."""
    prediction = row["pred"]
    whole = row.get("kind") == "response" or "\\boxed" in prediction
    prompt = Prompt.from_text(row["id"], "?", ground_truth=row["gold"])
    text = prediction if whole else f"\\boxed{{{prediction}}}"
    return pack.reward(prompt, Completion(text=text), options)


def kind_of(reward: Reward, expected: bool) -> str:
    """right, false+ (weighs most), false-, or error where the pack gave no verdict."""
    if reward.correct is None:
        return "error"
    if reward.correct == expected:
        return "right"
    return "false+" if reward.correct else "false-"


if __name__ == "__main__":
    main()
