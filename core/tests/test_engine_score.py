"""``cascade score`` as a user meets it: progress, cache, limits, files that cannot be used."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cascade_rl.testing import BARE_PACK

PACK = (
    """
import time
"""
    + BARE_PACK
    + """

@hookimpl
def reward(prompt, completion):
    if completion.text == "big": kept = b"x" * 300_000_000; time.sleep(5)
    time.sleep(0.001)
    return prompt.ground_truth == completion.text
"""
)
CASCADE = str(Path(sys.executable).with_name("cascade"))


@pytest.fixture
def run(make_pack, tmp_path):
    """Runs ``cascade score toy in.jsonl`` with arguments; standard error may be a terminal."""
    make_pack("toy", PACK)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TERM": "xterm",
    }

    def call(texts: list[str], *arguments: object, stderr: int = subprocess.PIPE):
        lines = [json.dumps({"ground_truth": "4", "completion": text}) for text in texts]
        (tmp_path / "in.jsonl").write_text("\n".join(lines))
        return subprocess.run(
            [CASCADE, "score", "toy", str(tmp_path / "in.jsonl"), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            timeout=60,
            env=environment,
        )

    return call


def records(done: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_terminal_sees_a_bar_and_a_pipe_sees_none(run):
    ours, theirs = pty.openpty()
    shown: list[bytes] = []

    def listen() -> None:
        with contextlib.suppress(OSError):  # how a terminal ends
            while True:
                shown.append(os.read(ours, 4096))

    listener = threading.Thread(target=listen)
    listener.start()
    done = run(["4", "5"] * 300, stderr=theirs)
    os.close(theirs)
    listener.join(10)
    os.close(ours)
    assert done.returncode == 0
    text = b"".join(shown).decode()
    assert "600 answered, " in text
    assert "600 scored, 300 correct" in text
    done = run(["4", "5"] * 10)
    assert done.stderr == "20 scored, 10 correct\n"


def test_a_second_run_with_a_cache_gives_the_very_same_lines(run, tmp_path):
    first = run(["4", "5"] * 20, "--cache", tmp_path / "c", "--workers", 2)
    again = run(["4", "5"] * 20, "--cache", tmp_path / "c", "--workers", 2)
    assert (first.returncode, again.returncode) == (0, 0)
    assert again.stdout == first.stdout  # the milliseconds included: nothing was judged again
    assert [r["correct"] for r in records(again)] == [True, False] * 20


def test_a_memory_limit_holds_for_each_worker(run):
    done = run(["4", "big", "5"], "--memory-mb", 200)
    assert done.returncode == 1
    assert [r["status"] for r in records(done)] == ["scored", "error", "scored"]
    said = re.match(
        r"needs more than 200 MB of memory, it had (\d+) when it was stopped; twice, so",
        str(records(done)[1]["reason"]),
    )
    assert said
    assert 200 <= int(said[1]) < 400  # the sample took 300 MB beside what the worker has
    assert "--memory-mb 200" in str(records(done)[1]["reason"])


def test_a_limit_that_cannot_hold_is_refused(run):
    done = run(["4"], "--workers", 0, "--memory-mb", 200)
    assert done.returncode == 2
    assert done.stderr == ("error: memory_mb needs worker processes; set workers to 1 or more\n")


def test_what_breaks_the_verifier_is_wrong_only_with_blame(make_pack, tmp_path):
    source = BARE_PACK + (
        "\n\n@hookimpl\ndef gold_completion(prompt): return prompt.ground_truth"
        "\n\n@hookimpl\ndef reward(prompt, completion):"
        "\n    if completion.text == 'raise': raise ValueError('no such luck')"
        "\n    return prompt.ground_truth == completion.text\n"
    )
    make_pack("toy", source)
    line = json.dumps({"ground_truth": "4", "completion": "raise"})
    (tmp_path / "in.jsonl").write_text(line + "\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site-packages")}
    command = [CASCADE, "score", "toy", str(tmp_path / "in.jsonl")]
    for flags, score, code in (([], None, 1), (["--blame"], 0.0, 0)):
        done = subprocess.run([*command, *flags], env=environment, capture_output=True, text=True)
        assert (done.returncode, json.loads(done.stdout)["score"]) == (code, score)
