"""Scoring while generation goes on, against scoring when it has ended.

    python benchmarks/overlap.py [--workers N] [--generation SECONDS]

A step of 1,024 samples (the paper's 128 prompts, 8 each). They finish as lengths do, most of
them early and a long tail up to the budget; their rewards cost what verifiers cost: 70 % a
few milliseconds, 25 % tens to hundreds (test suites), 5 % up to seconds. Both are drawn from
a fixed seed and scaled: the work of a worker is half, once and twice the time of generation.
A reward sleeps for its cost, as one does that waits for a sandbox, so the figures hold on any
machine. Printed: the time from the first token to the last reward, and of it the part after
the last token, which is what the accelerators wait for.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from cascade_rl import Completion, Prompt
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.testing import BARE_PACK, write_pack

SAMPLES = 1024
PACK = (
    """
import time
"""
    + BARE_PACK
    + """

@hookimpl
def reward(prompt):
    time.sleep(prompt.ground_truth)
    return float(prompt.id)
"""
)


def step(generation_s: float, work_s: float) -> list[tuple[float, Item]]:
    """(when it is generated, the sample), in the order of arrival."""
    chance = random.Random(0)
    lengths = [min(1.0, chance.lognormvariate(-1.6, 0.7)) for _ in range(SAMPLES)]
    costs = [
        chance.choices(
            (
                chance.uniform(0.002, 0.02),
                chance.lognormvariate(-2.0, 0.8),
                chance.uniform(0.5, 4.0),
            ),
            weights=(70, 25, 5),
        )[0]
        for _ in range(SAMPLES)
    ]
    scale = work_s / sum(costs)
    arrivals = [
        (
            generation_s * length / max(lengths),
            Item(
                prompt=Prompt.from_text(str(n), "?", ground_truth=cost * scale),
                completion=Completion(text=""),
            ),
        )
        for n, (length, cost) in enumerate(zip(lengths, costs, strict=True))
    ]
    return sorted(arrivals, key=lambda arrival: arrival[0])


def at_the_end(engine: RewardEngine, arrivals: list[tuple[float, Item]]) -> float:
    """Wait for the last sample, then score all; seconds from the first token."""
    started = time.perf_counter()
    time.sleep(arrivals[-1][0])
    rewards = engine.score(item for _, item in arrivals)
    assert [str(int(r.score or 0)) for r in rewards] == [item.prompt.id for _, item in arrivals]
    return time.perf_counter() - started


def streaming(engine: RewardEngine, arrivals: list[tuple[float, Item]]) -> float:
    """Score each sample as it is generated; seconds from the first token."""

    async def generated(started: float) -> AsyncIterator[tuple[str, Item]]:
        for when, item in arrivals:
            await asyncio.sleep(started + when - time.perf_counter())
            yield item.prompt.id, item

    async def run() -> float:
        started, seen = time.perf_counter(), set()
        async for key, reward in engine.astream(generated(started)):
            assert reward.score == float(key)
            seen.add(key)
        assert len(seen) == SAMPLES
        return time.perf_counter() - started

    return asyncio.run(run())


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--generation", type=float, default=10.0)
    arguments = parser.parse_args()
    generation_s, workers = arguments.generation, arguments.workers
    print(f"{SAMPLES} samples, generated in {generation_s:g} s; {workers} workers; seconds")
    print(f"{'reward':>8}{'first token to last reward':>34}{'after the last token':>34}")
    print(f"{'work':>8}" + f"{'at the end':>14}{'streaming':>12}{'ratio':>8}" * 2)
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        write_pack(Path(folder), "costly", PACK, distribution="costly")
        with RewardEngine("costly", workers=workers) as engine:
            engine.score([item for _, item in step(1.0, 1.0)])  # every worker is up
            for share in (0.5, 1.0, 2.0):
                arrivals = step(generation_s, share * generation_s * workers)
                end, stream = at_the_end(engine, arrivals), streaming(engine, arrivals)
                row = f"{share * generation_s * workers:8.0f}"
                for a, b in ((end, stream), (end - generation_s, stream - generation_s)):
                    row += f"{a:14.1f}{b:12.1f}{a / b:7.1f}x"
                print(row)


if __name__ == "__main__":
    main()
