"""`cascade score math --workers 2` on a file of a million lines: time, order, memory.

    python benchmarks/score_million.py [--lines 1000000]       # minutes; 200 MB of temporary files

Every fourth answer is wrong. Memory is the peak of the command (VmHWM), read every second, with
its workers'; it is printed as it grows, so that a leak shows as a slope.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASCADE = Path(sys.executable).with_name("cascade")
SHOW_EVERY_S = 30


def write(path: Path, lines: int) -> None:
    """Questions with whole-number answers, about 200 bytes a line."""
    with path.open("w") as file:
        for n in range(lines):
            answer = n if n % 4 else n + 1
            text = f"Adding the two numbers step by step gives {answer}. \\boxed{{{answer}}}"
            row = {"id": n, "prompt": f"What is {n} + 0?", "ground_truth": str(n)}
            file.write(json.dumps({**row, "completion": text}) + "\n")


def peak_mb(pid: int) -> float:
    """The most resident memory that a process has had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def children(pid: int) -> list[int]:
    """The direct children of a process, whichever of its threads started them."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(n) for one in lists for n in one.read_text().split()]


def watch(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Peaks of the command and of its largest worker, until it ends."""
    begin, shown, own, workers = time.monotonic(), 0, 0.0, 0.0
    while process.poll() is None:
        try:
            own = max(own, peak_mb(process.pid))
            workers = max([workers, *map(peak_mb, children(process.pid))])
        except OSError:  # a process that ended between two looks
            pass
        seconds = int(time.monotonic() - begin)
        if seconds // SHOW_EVERY_S > shown:
            shown = seconds // SHOW_EVERY_S
            print(f"{seconds:5d} s: command {own:.1f} MB, worker {workers:.1f} MB", flush=True)
        time.sleep(1)
    return own, workers


def check(path: Path, lines: int) -> int:
    """Verdicts that are wrong or out of place."""
    wrong = seen = 0
    with path.open() as file:
        for n, line in enumerate(file):
            record, seen = json.loads(line), n + 1
            wrong += record["id"] != n or record["correct"] is not bool(n % 4)
    return wrong + abs(lines - seen)


def main() -> None:
    """Write, score, check, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--lines", type=int, default=1_000_000)
    lines = parser.parse_args().lines
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "in.jsonl", Path(folder) / "out.jsonl"
        write(source, lines)
        begin = time.monotonic()
        command = [CASCADE, "score", "math", source, "-o", output, "--workers", "2"]
        with subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:
            own, workers = watch(process)
        seconds = time.monotonic() - begin
        print(
            f"{lines} lines in {seconds:.0f} s ({lines / seconds:.0f}/s), exit status "
            f"{process.returncode}, {check(output, lines)} wrong or out of place; peak memory: "
            f"command {own:.1f} MB, worker {workers:.1f} MB; load {os.getloadavg()[0]:.1f}"
        )


if __name__ == "__main__":
    main()
