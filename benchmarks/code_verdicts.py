"""Verdicts of the code pack against the reference corpora, and how fast they come.

    python benchmarks/code_verdicts.py [../shared/corpora]

``code_functions`` (HumanEval and MBPP: canonical solutions, mutants with the status of their
plain execution, cheats), ``code_acecode`` (published pass rates), ``checkers`` (testlib's). Then
the canonical solutions again, three times, while every core is kept busy by other processes.
"""

from __future__ import annotations

import collections
import gzip
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cascade_rl.types import Completion, Prompt, Reward
from cascade_rl_code import Options, close, reward
from cascade_rl_code.checkers import run_checker
from cascade_rl_code.layouts import READERS

_WORDS = {"AC": "ok", "WA": "wrong", "PE": "pe", "JUDGE_FAIL": "fail"}


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a gzipped JSON-lines file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def function_prompt(row: dict[str, Any]) -> Prompt:
    """A row of ``code_functions`` as the prompt that its data set's loader makes."""
    if row["task"].startswith("HumanEval"):
        entry = re.findall(r"^check\((\w+)\)", row["tests"], re.MULTILINE)[-1]
        problem = READERS["humaneval"](
            {"prompt": row["prompt"], "test": row["tests"], "entry_point": entry}, Options()
        )
    else:
        problem = READERS["mbpp"]({"text": row["prompt"], "test_list": [row["tests"]]}, Options())
    return Prompt.from_text(row["id"], problem.text, ground_truth=problem.truth)


def judged(prompt: Prompt, solution: str, options: Options) -> Reward:
    """The reward of a solution in a code block."""
    return reward(prompt, Completion(text=f"````python\n{solution}\n````"), options)


def functions(path: Path, options: Options) -> None:
    """Every difference between our verdict and the stored one."""
    counts: collections.Counter[tuple[str, bool]] = collections.Counter()
    took = []
    for row in rows(path):
        began = time.perf_counter()
        result = judged(function_prompt(row), row["solution"], options)
        took.append(time.perf_counter() - began)
        same = result.score == float(row["expected"])
        counts[row["kind"].split(":")[0], same] += 1
        if not same:
            print(f"  {row['id']} {row['task']} {row['kind']}: stored {row['exec_status']}",
                  f"({row['t']:.1f} s), ours {result.score}: {result.reason}")  # fmt: skip
    for kind in sorted({kind for kind, _ in counts}):
        print(f"  {kind}: {counts[kind, True]} as stored, {counts[kind, False]} not")
    took.sort()
    rate, median = len(took) / sum(took), took[len(took) // 2] * 1e3
    print(f"  {rate:.0f} answers/s, one worker, median {median:.1f} ms")


def acecode(path: Path, options: Options) -> None:
    """The share of asserts that pass against the published one."""
    same = total = 0
    for row in rows(path):
        truth = READERS["acecode"](row, options).truth
        prompt = Prompt.from_text(row["id"], row["question"], ground_truth=truth)
        result = judged(prompt, row["solution"], options.model_copy(update={"reward": "fraction"}))
        total += 1
        published = row["pass_rate"]
        if result.score is not None and abs(result.score - published) < 1e-9:
            same += 1
        else:
            print(f"  {row['id']}: published {published:.3f}, ours {result.score}: {result.reason}")
    print(f"  {same} of {total} pass rates as published")


def checkers(path: Path) -> None:
    """testlib's verdicts."""
    same = total = 0
    for row in rows(path):
        found = run_checker(row["checker"], row["output"].encode(), row["answer"].encode())
        total += 1
        same += _WORDS[found.verdict] == row["verdict"]
        if _WORDS[found.verdict] != row["verdict"]:
            print(f"  {row['id']} {row['checker']}: {row['verdict']}, ours {found}")
    print(f"  {same} of {total} verdicts as testlib's")


def under_load(path: Path, options: Options) -> None:
    """Canonical solutions while as many busy loops run as there are cores, three times."""
    canonical = [row for row in rows(path) if row["kind"] == "canonical"]
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        for turn in range(3):
            results = [(r, judged(function_prompt(r), r["solution"], options)) for r in canonical]
            failed = [(row["id"], found.reason) for row, found in results if found.score != 1]
            print(f"  run {turn + 1}: {len(results) - len(failed)} of {len(results)} pass {failed}")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    print(f"  load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def main() -> None:
    """Run everything."""
    default = Path(__file__).resolve().parents[2] / "shared" / "corpora"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    options = Options()
    for name, measure in (("code_functions", functions), ("code_acecode", acecode)):
        print(name)
        measure(folder / f"{name}.jsonl.gz", options)
    print("checkers")
    checkers(folder / "checkers.jsonl.gz")
    print("under load")
    under_load(folder / "code_functions.jsonl.gz", options)
    close()


if __name__ == "__main__":
    main()
