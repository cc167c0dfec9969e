"""Packs that misbehave and a service that is killed: is every sample answered once, in its place?

    python benchmarks/service_faults.py        # about a minute; prints the table of docs/service.md

A real `cascade serve`, asked by `RewardClient`. Among samples whose right rewards are all
different, every tenth makes the pack misbehave; or the service is killed by SIGKILL and started
again while the client waits. `tests/test_service_faults.py` runs the same with fewer samples.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cascade_rl import Completion, Prompt, Reward
from cascade_rl.client import RewardClient
from cascade_rl.engine import Item
from cascade_rl.testing import write_pack

PACK = Path(__file__).parent.parent / "core" / "tests" / "packs" / "obedient.py"
TIMEOUT_S, MEMORY_MB = 1.0, 300
EVERY = 10
FAULTS = {
    "hangs": "hang",
    "leaks memory": "hoard 600",
    "segfaults": "segfault",
    "is killed": "die",
    "raises": "raise",
    "returns NaN": "nan",
    "returns too late": f"sleep {2 * TIMEOUT_S} score 7",
}


@dataclass(frozen=True)
class Row:
    """What came back. ``zeroed``: faulty samples that got a number, any number."""

    fault: str
    samples: int
    faulty: int
    answered: int
    in_place: int
    zeroed: int
    said: str
    seconds: float

    def text(self) -> str:
        """One line of the table."""
        return (
            f"| {self.fault} | {self.samples} | {self.faulty} | {self.answered} | "
            f"{self.in_place} | {self.zeroed} | {self.said} | {self.seconds:.1f} |"
        )


TITLES = (
    *("the pack, or the service", "samples", "faulty", "answered", "others in place"),
    *("faulty with a number", "faulty answered as", "s"),
)
HEAD = f"| {' | '.join(TITLES)} |\n|{'---|' * len(TITLES)}"


class Service:
    """A `cascade serve` process of the misbehaving pack, which can be killed and started again."""

    def __init__(self, site: Path) -> None:
        self._site, self._port = site, 0
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> None:
        """Start it, on the same port as before."""
        config = self._site / "serve.yaml"
        limits = {"timeout_s": TIMEOUT_S, "memory_mb": MEMORY_MB, "workers": 2}
        config.write_text(json.dumps({"domains": {"obedient": limits}, "port": self._port}))
        command = [Path(sys.executable).with_name("cascade"), "serve", "--config", config]
        self._process = subprocess.Popen(
            command,
            env={
                **os.environ,
                "PYTHONPATH": str(self._site),
                "XDG_CACHE_HOME": str(self._site / "cache"),
            },
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        found = re.search(r"(http://\S+:(\d+))", line)
        if not found:
            raise RuntimeError(f"the service did not start: {line}{self._process.stderr.read()}")
        self.url, self._port = found[1], int(found[2])

    def kill(self) -> None:
        """SIGKILL, as a machine that fails would."""
        assert self._process is not None
        assert self._process.stderr is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process.stderr.close()


@contextmanager
def serving() -> Iterator[Service]:
    """A running service, killed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder)
        write_pack(site, "obedient", PACK.read_text(), distribution="fake-obedient")
        service = Service(site)
        service.start()
        try:
            yield service
        finally:
            service.kill()


def misbehaving(service: Service, fault: str, samples: int) -> Row:
    """Every tenth sample makes the pack misbehave."""
    texts = [FAULTS[fault] if n % EVERY == EVERY - 1 else f"score {n}" for n in range(samples)]
    begin = time.perf_counter()
    with RewardClient(service.url, "obedient", deadline_s=600, batch_size=16) as client:
        rewards = client.score(map(_item, texts))
    return _row(f"pack {fault}", texts, rewards, time.perf_counter() - begin)


def killed(service: Service, samples: int, kills: int) -> Row:
    """The service is killed and started again, ``kills`` times, while the client works."""
    texts = [f"score {n}" for n in range(samples)]
    begin = time.perf_counter()
    with RewardClient(service.url, "obedient", deadline_s=600, batch_size=16) as client:
        futures = [client.submit(_item(text)) for text in texts]
        for kill in range(kills):
            futures[samples * (kill + 1) // (kills + 2)].result()
            service.kill()
            service.start()
        rewards = [future.result() for future in futures]
    return _row(f"service killed {kills} times", texts, rewards, time.perf_counter() - begin)


def _item(text: str) -> Item:
    prompt = Prompt.from_text("p", "Say it.", ground_truth="it")
    return Item(prompt=prompt, completion=Completion(text=text))


def _row(fault: str, texts: list[str], rewards: list[Reward], seconds: float) -> Row:
    wanted = [float(t.split()[1]) if t.startswith("score") else None for t in texts]
    pairs = list(zip(wanted, rewards, strict=True))
    faulty = [reward for want, reward in pairs if want is None]
    said = Counter(reward.status for reward in faulty)
    return Row(
        fault,
        len(texts),
        len(faulty),
        len(rewards),
        sum(reward.score == want for want, reward in pairs if want is not None),
        sum(reward.score is not None for reward in faulty),
        ", ".join(f"{n} {status}" for status, n in said.items()) or "none was faulty",
        seconds,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=200, help="of each pack fault")
    chosen = parser.parse_args()
    print(HEAD, flush=True)
    with serving() as service:
        for fault in FAULTS:
            print(misbehaving(service, fault, chosen.samples).text(), flush=True)
        print(killed(service, 100 * chosen.samples, 3).text(), flush=True)


if __name__ == "__main__":
    main()
