"""Ten SIGKILLs at random moments change no number of a run. Real packs, the real command."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CASCADE = """
name: minute
threads: 1
workers: 1
checkpoint_every: 1
model:
  build: {hidden_size: 96, intermediate_size: 192, layers: 2, heads: 4, kv_heads: 2, context: 192}
domains:
  math: {options: {max_operand: 9, mode: no_think}, budget: {prompt_tokens: 64}}
  ifeval: {options: {count: 60}, budget: {prompt_tokens: 64}}
evaluation: {prompts: 20, samples: 2}
stages:
  - {name: sft, kind: sft, domains: [math, ifeval], steps: 160, batch_size: 32,
     optimizer: {lr: 0.004}}
  - {name: ifeval, domain: ifeval, steps: 10, batch_size: 8, sampling: {n: 4},
     filter: {kind: in_batch}, optimizer: {lr: 0.0001}}
  - {name: math, domain: math, steps: 10, batch_size: 8, sampling: {n: 4},
     filter: {kind: epoch}, budget: {completion_tokens: 8, overlong: zero},
     optimizer: {lr: 0.0001}}
"""
KILLS = 10
TIMES = re.compile(r'"(seconds|sampling_seconds|ms)": ?[-0-9.e]+')


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = Path(sys.executable).with_name("cascade")
    with (folder.parent / f"{folder.name}.log").open("ab") as log:
        return subprocess.Popen(
            [command, "run", "minute.yaml", "--set", f"output={folder.name}"],
            cwd=folder.parent,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )


def contents(folder: Path) -> dict[str, str]:
    files = [*folder.glob("stages/*/*.jsonl"), folder / "matrix.json"]
    return {str(f.relative_to(folder)): TIMES.sub("", f.read_text()) for f in sorted(files)}


@pytest.mark.slow
def test_ten_kills_change_nothing(tmp_path):
    (tmp_path / "minute.yaml").write_text(CASCADE)
    with start(tmp_path / "whole") as whole:
        began = time.monotonic()
        assert whole.wait() == 0, (tmp_path / "whole.log").read_text()[-2000:]
    took = time.monotonic() - began
    draw, killed, attempts = random.Random(5), 0, 0
    while killed < KILLS:
        attempts += 1
        assert attempts < 60, f"only {killed} kills landed in {attempts} attempts"
        with start(tmp_path / "killed") as process:
            try:
                process.wait(draw.uniform(0.25, 0.5) * took)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                killed += 1
        if process.returncode == 0 and killed < KILLS:  # it got to the end: kill another run
            assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
            shutil.rmtree(tmp_path / "killed")
    with start(tmp_path / "killed") as last:
        assert last.wait() == 0, (tmp_path / "killed.log").read_text()[-2000:]
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
