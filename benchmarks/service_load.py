"""The reward service under load, over loopback: rewards a second, latency, memory, start-up.

    python benchmarks/service_load.py                # about a minute and a half
    python benchmarks/service_load.py --soak 600     # and ten minutes of steady load for the memory

Batches of 64 maths samples with whole-number answers, then single samples at 100 requests a
second, against ``cascade serve --domain math`` and, in turns, against the simplest FastAPI
wrapper around math-verify (in a virtual environment of its own, made the first time; without
an index that side is left out). Everything is bounded in count and time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parent.parent
PEER_VENV = ROOT / ".venv-peers" / "math-verify"
PEER_PACKAGES = ("math-verify==0.9.0", "fastapi", "uvicorn")
PEER_APP = """
from fastapi import FastAPI
from math_verify import parse, verify

app = FastAPI()

@app.post("/score")
async def score(body: dict):
    return [float(verify(parse(i["gold"]), parse(i["answer"]))) for i in body["items"]]

@app.get("/healthz")
async def healthz():
    return {}
"""
BATCH, CONNECTIONS = 64, 8
RATE = 100  # single samples a second
START_S = 60.0


@dataclass
class Side:
    """One service: where it is, how to ask it, and how to read its scores."""

    name: str
    url: str
    pid: int
    started_s: float

    def body(self, first: int, count: int) -> bytes:
        """A request of ``count`` samples, every fourth one wrong."""
        numbers = range(first, first + count)
        answers = [(n, n if n % 4 else n + 1) for n in numbers]
        if self.name == "math-verify":
            items = [{"gold": f"${n}$", "answer": f"\\boxed{{{a}}}"} for n, a in answers]
            return json.dumps({"items": items}).encode()
        items = [{"ground_truth": str(n), "completion": f"\\boxed{{{a}}}"} for n, a in answers]
        return json.dumps({"domain": "math", "items": items}).encode()

    @property
    def path(self) -> str:
        """Where requests go."""
        return "/score" if self.name == "math-verify" else "/v1/rewards"

    def scores(self, reply: Any) -> list[float]:
        """The scores of a reply."""
        return reply if isinstance(reply, list) else [r["score"] for r in reply["rewards"]]


def wrong(scores: list[float], first: int) -> int:
    """How many scores are not what they must be."""
    return sum(s != float(n % 4 != 0) for n, s in enumerate(scores, first))


async def throughput(side: Side, seconds: float) -> tuple[float, int]:
    """(rewards a second, errors) with a few connections that send batch after batch."""
    done = errors = 0
    until = time.perf_counter() + seconds
    async with httpx.AsyncClient(base_url=side.url, timeout=60) as http:

        async def ask(first: int) -> None:
            nonlocal done, errors
            while time.perf_counter() < until:
                reply = await post(http, side, first, BATCH)
                errors += wrong(side.scores(reply.json()), first) if reply.is_success else BATCH
                done += BATCH
                first += BATCH

        started = time.perf_counter()
        await asyncio.gather(*(ask(1 + 10_000_000 * n) for n in range(CONNECTIONS)))
        return done / (time.perf_counter() - started), errors


async def latency(side: Side, seconds: float) -> tuple[list[float], int]:
    """(milliseconds of each single sample, errors) at a fixed rate, however slow the answers."""
    times: list[float] = []
    errors = 0
    async with httpx.AsyncClient(base_url=side.url, timeout=60) as http:

        async def ask(number: int) -> None:
            nonlocal errors
            started = time.perf_counter()
            reply = await post(http, side, number, 1)
            times.append((time.perf_counter() - started) * 1e3)
            errors += wrong(side.scores(reply.json()), number) if reply.is_success else 1

        started, tasks = time.perf_counter(), []
        for number in range(1, int(seconds * RATE) + 1):
            tasks.append(asyncio.create_task(ask(number)))
            await asyncio.sleep(max(0.0, started + number / RATE - time.perf_counter()))
        await asyncio.gather(*tasks)
    return times, errors


async def post(http: httpx.AsyncClient, side: Side, first: int, count: int) -> httpx.Response:
    """One request."""
    headers = {"Content-Type": "application/json"}
    return await http.post(side.path, content=side.body(first, count), headers=headers)


def resident_mb(pid: int) -> float:
    """Resident memory of a process and of all that it started."""
    family = [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
    text = Path(f"/proc/{pid}/status").read_text()
    own = int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024  # type: ignore[union-attr]
    return own + sum(resident_mb(child) for child in family)


@contextmanager
def started(name: str, command: list[Any], url: str | None, folder: Path) -> Iterator[Side]:
    """Run a service until the block ends; ``started_s`` is the time to its first reward."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        side = Side(name, url or process.stderr.readline().split()[2], process.pid, 0.0)
        while True:
            try:
                httpx.post(
                    side.url + side.path,
                    content=side.body(1, 1),
                    headers={"Content-Type": "application/json"},
                    timeout=60,
                ).raise_for_status()
                break
            except httpx.ConnectError:
                if time.perf_counter() - begun > START_S:
                    raise
                time.sleep(0.01)
        side.started_s = time.perf_counter() - begun
        yield side
    finally:
        process.terminate()
        process.wait(60)
        process.stderr.close()


def peer_python() -> Path | None:
    """An interpreter with math-verify and FastAPI; None where it cannot be made."""
    python = PEER_VENV / "bin" / "python"
    stamp = PEER_VENV / ".ready"
    if not stamp.exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", PEER_VENV], check=True)
            install = [python, "-m", "pip", "install", "-q", *PEER_PACKAGES]
            subprocess.run(install, check=True, timeout=600)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"math-verify cannot be installed, its side is left out: {error}")
            return None
        stamp.touch()
    return python


def measure(side: Side, seconds: float, row: str) -> None:
    """One line of the table."""
    before = resident_mb(side.pid)
    rate, errors = asyncio.run(throughput(side, seconds))
    times, more = asyncio.run(latency(side, seconds))
    times.sort()
    p50, p99 = statistics.median(times), times[int(len(times) * 0.99)]
    print(
        f"{row:22}{rate:12.0f}{p50:10.1f}{p99:10.1f}{errors + more:8}{side.started_s:11.2f}"
        f"{before:9.0f}{resident_mb(side.pid):9.0f}{os.getloadavg()[0]:7.1f}",
        flush=True,
    )


def soak(side: Side, seconds: float) -> None:
    """Steady load, and the memory every tenth of the time."""
    print(f"\nmemory under steady load for {seconds:g} s, MB with all workers:")
    sizes, rates = [], []
    for _ in range(10):
        rate, errors = asyncio.run(throughput(side, seconds / 10))
        rates.append(rate)
        sizes.append(resident_mb(side.pid))
        print(f"  {sizes[-1]:7.1f} MB at {rate:6.0f} rewards/s, {errors} errors", flush=True)
    growth = sizes[-1] - sizes[0]
    total = sum(rates) * seconds / 10
    print(f"  growth from the first tenth to the last: {growth:+.1f} MB over {total:.0f} rewards")


def main() -> None:
    """Measure both sides in turns and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each side")
    parser.add_argument("--workers", type=int, default=1, help="verifier processes")
    parser.add_argument("--soak", type=float, default=0.0, help="seconds of steady load")
    arguments = parser.parse_args()
    ours = [Path(sys.executable).with_name("cascade"), "serve", "--domain", "math", "--port", "0",
            "--workers", str(arguments.workers)]  # fmt: skip
    print(f"{'':22}{'rewards/s':>12}{'p50 ms':>10}{'p99 ms':>10}{'errors':>8}{'start s':>11}"
          f"{'MB then':>9}{'MB now':>9}{'load':>7}")  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "wrapper.py").write_text(PEER_APP)
        python = peer_python()
        theirs = [python, "-m", "uvicorn", "wrapper:app", "--port", "8765", "--log-level", "error"]
        for _ in range(arguments.rounds):
            with started("cascade", ours, None, folder) as side:
                measure(side, arguments.seconds, "cascade serve")
            if python is not None:
                with started("math-verify", theirs, "http://127.0.0.1:8765", folder) as side:
                    measure(side, arguments.seconds, "FastAPI + math-verify")
        if arguments.soak:
            with started("cascade", ours, None, folder) as side:
                soak(side, arguments.soak)


if __name__ == "__main__":
    main()
