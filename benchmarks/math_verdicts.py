"""The maths reward and math-verify 0.9.0 against verdicts that people wrote, in one run.

    python benchmarks/math_verdicts.py [CORPORA_FOLDER] [--show] [--no-peer] [--venv FOLDER]

Reads ``math_human``, ``math_issues`` and ``math_solutions`` (.jsonl.gz; fields gold, pred,
expected), by default from ``<repository>/../shared/corpora``. Ours gets a prediction inside
``\\boxed{}``, unless it holds a box or is a whole response; math-verify gets bare strings
inside dollars, as its users are told to. Row by row, one after the other, so that a busy
machine slows both. A verdict that is missing (a gold that cannot be used, an exception) is
an error: neither false positive nor false negative, but no right verdict either.

math-verify lives in a virtual environment of its own, made on first use under
``.venv-peers/math-verify`` (or ``--venv``) and driven over a pipe from its main thread, where
its timeouts work. Also measured: whole-number answers, and the time to import the pack.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CORPORA = ("math_human", "math_issues", "math_solutions")
ROOT = Path(__file__).resolve().parents[1]
DEFAULT_FOLDER = ROOT.parent / "shared" / "corpora"
DEFAULT_VENV = ROOT / ".venv-peers" / "math-verify"
REQUIREMENT = "math-verify[antlr4_9_3]==0.9.0"
WHOLE_NUMBERS = {"ours": 5_000, "math-verify": 150}

Row = dict[str, Any]
#: A verdict, True, False or None where there is none; why; and the peer's CPU seconds.
Verdict = tuple[bool | None, str, float]
Judge = Callable[[Row], Verdict]


def main() -> None:
    """Print a table a corpus, one for all rows, and the ratio of the two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--show", action="store_true", help="list our rows that went wrong")
    parser.add_argument("--no-peer", action="store_true", help="measure ours alone")
    parser.add_argument("--venv", type=Path, default=DEFAULT_VENV, help="math-verify's environment")
    parser.add_argument("--serve-peer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve_peer:
        serve_peer()
        return
    judges: dict[str, Judge] = {"ours": ours()}
    if not arguments.no_peer:
        judges["math-verify"] = peer(arguments.venv)
    measure(arguments.folder, judges, arguments.show)
    whole_numbers(judges)
    import_time()


def measure(folder: Path, judges: dict[str, Judge], show: bool) -> None:
    """Every row to every judge, row by row."""
    print(f"{'corpus':16}{'':12}{'rows':>6}{'accuracy':>10}{'false+':>8}{'false-':>8}{'errors':>8}"
          f"{'verdicts/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'worst ms':>10}")  # fmt: skip
    totals = {name: Tally() for name in judges}
    before = children_cpu()
    for corpus in CORPORA:
        path = folder / f"{corpus}.jsonl.gz"
        if not path.is_file():
            print(f"{corpus:16}  not there: {path}")
            continue
        tallies = {name: Tally() for name in judges}
        for row in rows(path):
            for name, judge in judges.items():
                started, used = time.perf_counter(), time.process_time()
                verdict, reason, cpu = judge(row)
                took, used = time.perf_counter() - started, time.process_time() - used
                kind = kind_of(verdict, row["expected"])
                for tally in (tallies[name], totals[name]):
                    tally.add(kind, took, cpu if name != "ours" else used)
                if show and name == "ours" and kind != "right":
                    print(f"  {kind:8} {row['id']}  {row['gold'][-60:]!r}  {row['pred'][-60:]!r}"
                          f"  {reason[:80]}")  # fmt: skip
        for name, tally in tallies.items():
            print(f"{corpus:16}{name:12}{tally}")
    for name, total in totals.items():
        print(f"{'all rows':16}{name:12}{total}")
    totals["ours"].cpu += children_cpu() - before
    if len(totals) > 1:
        ratio = totals["ours"].per_second / totals["math-verify"].per_second
        print(f"ours gives {ratio:.0f} times as many verdicts a second on all rows")
    used = ", ".join(f"{name} {total.cpu:.1f}" for name, total in totals.items())
    print(f"CPU seconds on all rows, with those of our children: {used}")


@dataclass
class Tally:
    """What one judge did with a number of rows."""

    kinds: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    cpu: float = 0.0

    def add(self, kind: str, seconds: float, cpu: float) -> None:
        """One more row."""
        self.kinds[kind] += 1
        self.times.append(seconds)
        self.cpu += cpu

    @property
    def per_second(self) -> float:
        """Verdicts a second."""
        return len(self.times) / sum(self.times)

    def __str__(self) -> str:
        times, count = sorted(self.times), len(self.times)
        return (f"{count:6}{self.kinds['right'] / count:10.3f}{self.kinds['false+']:8}"
                f"{self.kinds['false-']:8}{self.kinds['error']:8}{self.per_second:12.1f}"
                f"{times[count // 2] * 1e3:9.2f}{times[int(count * 0.99)] * 1e3:9.2f}"
                f"{times[-1] * 1e3:10.1f}")  # fmt: skip


def rows(path: Path) -> Iterator[Row]:
    """The rows of one corpus."""
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


def kind_of(verdict: bool | None, expected: bool) -> str:
    """right, false+ (weighs most), false-, or error where there is no verdict."""
    if verdict is None:
        return "error"
    if verdict == expected:
        return "right"
    return "false+" if verdict else "false-"


def ours() -> Judge:
    """The pack's reward with its default options, its child warm."""
    import cascade_rl_math as pack
    from cascade_rl.types import Completion, Prompt

    options = pack.Options(source="problem_answer", path="unused.jsonl")
    pack.open(options)

    def judge(row: Row) -> Verdict:
        prediction = row["pred"]
        whole = row.get("kind") == "response" or "\\boxed" in prediction
        prompt = Prompt.from_text(row["id"], "?", ground_truth=row["gold"])
        text = prediction if whole else f"\\boxed{{{prediction}}}"
        reward = pack.reward(prompt, Completion(text=text), options)
        return reward.correct, reward.reason, 0.0

    return judge


def children_cpu() -> float:
    """CPU seconds of the pack's living children (Linux; 0 elsewhere)."""
    total = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            line = (path.parent / "cmdline").read_text()
        except OSError:  # it ended meanwhile
            continue
        if int(fields[1]) == os.getpid() and "cascade_rl.workers.child" in line:
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def peer(venv: Path) -> Judge:
    """math-verify in a process of its own."""
    python = venv / "bin" / "python"
    if not python.is_file():
        print(f"making {venv} with {REQUIREMENT}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        (venv / ".gitignore").write_text("*\n")
        subprocess.run([str(python), "-m", "pip", "install", "-q", REQUIREMENT], check=True)
    process = subprocess.Popen(
        [str(python), __file__, "--serve-peer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    pipe_in, pipe_out = process.stdin, process.stdout
    assert pipe_in is not None
    assert pipe_out is not None

    def judge(row: Row) -> Verdict:
        pipe_in.write(json.dumps([row["gold"], row["pred"]]) + "\n")
        pipe_in.flush()
        verdict, reason, cpu = json.loads(pipe_out.readline())
        return verdict, reason, cpu

    judge({"gold": "1", "pred": "1"})  # its imports are not the first row's
    return judge


def serve_peer() -> None:
    """The other end: one JSON pair a line in, one verdict a line out."""
    import logging

    from math_verify import parse, verify  # type: ignore[import-not-found]

    logging.disable(logging.CRITICAL)
    for line in sys.stdin:
        used = time.process_time()
        try:
            gold, prediction = map(in_dollars, json.loads(line))
            found, reason = bool(verify(parse(gold), parse(prediction))), ""
        except Exception as error:  # whatever it raises is its verdict
            found, reason = None, f"{type(error).__name__}: {error}"[:200]
        print(json.dumps([found, reason, time.process_time() - used]), flush=True)


def in_dollars(text: str) -> str:
    """A bare string inside dollars; anything that holds mathematics marked as such as it is."""
    marked = any(sign in text for sign in ("$", "\\boxed", "\\(", "\\["))
    return text if marked else f"${text}$"


def whole_numbers(judges: dict[str, Judge]) -> None:
    """Right and wrong whole numbers, one process each."""
    for name, judge in judges.items():
        count = WHOLE_NUMBERS[name]
        answers: list[Row] = [
            {"id": str(index), "gold": str(index * 37), "pred": str(index * 37 + index % 2)}
            for index in range(count)
        ]
        started, used = time.perf_counter(), time.process_time()
        right = sum(judge(row)[0] == (row["gold"] == row["pred"]) for row in answers)
        took, used = time.perf_counter() - started, time.process_time() - used
        cpu = f", {count / used:,.0f} per CPU second" if name == "ours" else ""
        print(f"whole numbers, {name}: {count / took:,.0f}/s{cpu}, {right} of {count} right")


def import_time() -> None:
    """Seconds to import the pack in a fresh interpreter, less an empty one."""
    code = (
        "import time; started = time.process_time(); import cascade_rl_math;"
        " print(time.process_time() - started)"
    )
    used = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    print(f"import cascade_rl_math: {min(used):.2f} s of CPU (least of 5)")


if __name__ == "__main__":
    main()
