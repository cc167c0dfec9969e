"""One cache, several processes: judged once, whoever is killed when."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from cascade_rl.engine.store import FILE
from cascade_rl.testing import BARE_PACK

PACK = (
    BARE_PACK
    + """
import os, time
from pydantic import BaseModel

class Options(BaseModel):
    log: str
    pause_s: float

@hookimpl
def reward(completion, options):
    log = os.open(options.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, (completion.text + chr(10)).encode())
    os.close(log)
    time.sleep(options.pause_s)
    return float(completion.text)
"""
)

SCRIPT = """
import json, random, sys
from pathlib import Path
from cascade_rl import Completion, Prompt
from cascade_rl.engine import Item, RewardEngine

cache, options, numbers = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
random.seed(sys.argv[4])
random.shuffle(numbers)
items = [
    Item(prompt=Prompt.from_text("p", "?"), completion=Completion(text=str(n))) for n in numbers
]
with RewardEngine("toy", options, workers=1, cache=cache) as engine:
    for number, reward in engine.stream(zip(numbers, items)):
        assert reward.score == number, reward
        print(number, flush=True)
"""


@pytest.fixture
def start(make_pack, tmp_path):
    """Starts a process that scores numbers; all are killed in the end."""
    make_pack("toy", PACK)
    script = tmp_path / "score.py"
    script.write_text(SCRIPT)
    started: list[subprocess.Popen[str]] = []

    def begin(numbers: range, seed: int, pause_s: float = 0.02) -> subprocess.Popen[str]:
        options = f'{{"log": "{tmp_path / "calls"}", "pause_s": {pause_s}}}'
        arguments = [tmp_path / "c", options, str(list(numbers)), str(seed)]
        process = subprocess.Popen(
            [sys.executable, str(script), *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def calls(tmp_path: Path) -> list[int]:
    return sorted(map(int, (tmp_path / "calls").read_text().split()))


def test_three_processes_judge_each_sample_once_between_them(start, tmp_path):
    processes = [start(range(40), seed) for seed in range(3)]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert [sorted(map(int, out.split())) for out in outputs] == [list(range(40))] * 3
    assert calls(tmp_path) == list(range(40))


def test_a_killed_judge_is_followed_by_another(start, tmp_path):
    first = start(range(1), 0, pause_s=3.0)
    while not (tmp_path / "calls").exists():
        time.sleep(0.02)
    second = start(range(1), 0, pause_s=3.0)
    time.sleep(1.0)  # it waits for the first by now
    first.send_signal(signal.SIGKILL)
    assert second.communicate(timeout=30)[0].split() == ["0"]
    assert calls(tmp_path) == [0, 0]


@pytest.mark.slow
def test_killed_at_any_moment_the_file_is_whole_and_what_it_says_is_true(start, tmp_path):
    chance = random.Random(0)
    for round_ in range(8):
        process = start(range(200 * round_, 200 * round_ + 400), round_, pause_s=0.0)
        process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.wait()
    with closing(sqlite3.connect(tmp_path / "c" / FILE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT count(*) FROM verdicts").fetchone()[0] > 0
    done = start(range(1800), 99, pause_s=0.0)  # asserts every score itself
    assert len(done.communicate(timeout=60)[0].split()) == 1800
    assert done.returncode == 0
