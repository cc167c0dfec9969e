"""What the engine adds to each sample: a reward that returns a constant, in batches of 1,024.

    python benchmarks/engine_overhead.py [--rounds N] [--size CHARACTERS]

Wall-clock time of a batch over its samples: the best round and the median one, with the CPU
time of all processes beside it (on a busy machine the better guide). The bars are 150 us
inline and 400 us through worker processes on two cores; exits 1 when the best round misses
one of them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cascade_rl import Completion, Prompt
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.testing import BARE_PACK, write_pack

BATCH = 1024
BARS_US = {"inline": 150, "2 workers": 400}
PACK = (
    BARE_PACK
    + """

@hookimpl
{prefix}def reward(completion): return 1.0
"""
)


def batch(size: int, tag: str = "") -> list[Item]:
    """1,024 different samples with completions of about ``size`` characters."""
    text = "The answer is 4. " * (size // 17)
    return [
        Item(
            prompt=Prompt.from_text(f"p{n}", "What is two plus two?", ground_truth="4"),
            completion=Completion(text=f"{tag}{n} {text}"),
        )
        for n in range(BATCH)
    ]


def cpu_s(engine: RewardEngine) -> float:
    """CPU seconds of this process and of the engine's workers."""
    slots = getattr(engine._executor, "_slots", [])
    ticks = 0
    for slot in slots:
        fields = Path(f"/proc/{slot.worker.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / 100


def measure(domain: str, size: int, rounds: int, **options: Any) -> tuple[float, float, float]:
    """(best, median) wall time and mean CPU time, in microseconds a sample."""
    items = batch(size)
    with RewardEngine(domain, **options) as engine:
        engine.score(items)
        walls, cpu = [], cpu_s(engine)
        for _ in range(rounds):
            started = time.perf_counter()
            rewards = engine.score(items)
            walls.append((time.perf_counter() - started) / BATCH * 1e6)
            assert all(reward.score == 1.0 for reward in rewards)
        cpu = (cpu_s(engine) - cpu) / rounds / BATCH * 1e6
    return min(walls), statistics.median(walls), cpu


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--size", type=int, default=800)
    arguments = parser.parse_args()
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        write_pack(Path(folder), "constant", PACK.format(prefix=""), distribution="constant")
        write_pack(Path(folder), "later", PACK.format(prefix="async "), distribution="later")
        ways: dict[str, tuple[str, dict[str, Any]]] = {
            "inline": ("constant", {"workers": 0}),
            "1 worker": ("constant", {"workers": 1}),
            "2 workers": ("constant", {"workers": 2}),
            "2 workers, memory limit": ("constant", {"workers": 2, "memory_mb": 1000}),
            "2 workers, all in the cache": (
                "constant",
                {"workers": 2, "cache": Path(folder, "cache")},
            ),
            "async, inline": ("later", {"workers": 0}),
            "async, 2 workers": ("later", {"workers": 2}),
        }
        print(f"microseconds a sample, batches of {BATCH}, about {arguments.size} characters each")
        print(f"{'':30}{'best':>8}{'median':>8}{'CPU':>8}")
        for name, (domain, options) in ways.items():
            best, median, cpu = measure(domain, arguments.size, arguments.rounds, **options)
            print(f"{name:30}{best:8.0f}{median:8.0f}{cpu:8.0f}")
            if best > BARS_US.get(name, float("inf")):
                missed.append(f"{name}: {best:.0f} us, the bar is {BARS_US[name]}")
    print("\n".join(missed) or "both bars are met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
