"""The engine keeps order and ids, kills what hangs, and never turns a fault into a score."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from cascade_rl import Completion, LengthBudget, Prompt
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.testing import BARE_PACK

PACK = (
    """
import asyncio, os, time
"""
    + BARE_PACK
    + """

@hookimpl
{async_}def reward(completion):
    text = completion.text
    {body}
    return {{"nan": float("nan"), "inf": float("inf"), "none": None, "word": "x"}}.get(text, 0.5)
"""
)

BODY = """
    if text == "hang": time.sleep(60)
    if text == "hold": sum(range(10**12))
    if text == "exit": os._exit(3)
    if text == "raise": raise ValueError("no such luck")
    if text.startswith("echo "): return float(text[5:])
    if text.startswith("gold"): return Reward.verdict(True)
"""

ASYNC_BODY = """
    if text == "hang": await asyncio.sleep(60)
    if text == "block": time.sleep(60)
    if text.startswith("sleep "): await asyncio.sleep(float(text[6:])); return float(text[6:])
    if text.startswith("echo "): return float(text[5:])
"""

GOLD = """
@hookimpl
def gold_completion(prompt): return "gold"
"""


def item(text: str, **fields: object) -> Item:
    return Item(
        prompt=Prompt.from_text("p", "?"),
        completion=Completion(text=text),
        **fields,  # type: ignore[arg-type]
    )


@pytest.fixture
def sync_pack(make_pack):
    make_pack("toy", PACK.format(async_="", body=BODY.strip()))


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_batch_keeps_the_order(sync_pack, workers):
    with RewardEngine("toy", workers=workers) as engine:
        rewards = engine.score([item(f"echo {n}") for n in range(300)])
    assert [r.score for r in rewards] == [float(n) for n in range(300)]


def test_stream_gives_every_key_once(sync_pack):
    with RewardEngine("toy", workers=2) as engine:
        got = dict(engine.stream((n, item(f"echo {n}")) for n in range(200)))
    assert {key: reward.score for key, reward in got.items()} == {n: float(n) for n in range(200)}


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nan", "the pack returned nan; a score is finite"),
        ("inf", "the pack returned inf; a score is finite"),
        ("none", "the pack returned None; return Reward.unscored(status, reason) instead"),
        ("word", "the pack returned str 'x', not a Reward"),
        ("raise", "ValueError: no such luck"),
    ],
)
def test_a_faulty_answer_is_an_error_without_a_score(sync_pack, workers, text, reason):
    with RewardEngine("toy", workers=workers) as engine:
        (reward,) = engine.score([item(text)])
    assert (reward.score, reward.status, reward.reason) == (None, "error", reason)


@pytest.mark.parametrize("text", ["hang", "hold"])
def test_a_hanging_reward_is_killed_and_its_neighbours_are_scored(sync_pack, text):
    texts = ["echo 1", text, "echo 2", "echo 3", "echo 4"]
    with RewardEngine("toy", workers=1, timeout_s=0.4) as engine:
        rewards = engine.score([item(t) for t in texts])
    assert [r.score for r in rewards] == [1.0, None, 2.0, 3.0, 4.0]
    assert (rewards[1].status, rewards[1].reason) == ("timeout", "no verdict within 0.4 s")


def test_a_crashing_reward_is_an_error_and_the_worker_is_replaced(sync_pack):
    with RewardEngine("toy", workers=1) as engine:
        rewards = engine.score([item(t) for t in ("exit", "echo 7")])
    assert (rewards[0].score, rewards[0].status) == (None, "error")
    assert "exit code 3" in rewards[0].reason
    assert rewards[1].score == 7.0


def test_a_completion_that_breaks_the_verifier_is_wrong_when_gold_passes(make_pack):
    make_pack("toy", PACK.format(async_="", body=BODY.strip()) + GOLD)
    with RewardEngine("toy", workers=1, timeout_s=0.4) as engine:
        rewards = engine.score([item("hang"), item("raise"), item("echo 1")])
    assert [r.score for r in rewards] == [0.0, 0.0, 1.0]
    assert rewards[0].correct is False
    assert rewards[0].reason == (
        "breaks the verifier twice (no verdict within 0.4 s) while the gold completion passes"
    )


@pytest.mark.parametrize("workers", [0, 1])
def test_async_rewards_run_side_by_side(make_pack, workers):
    make_pack("toy", PACK.format(async_="async ", body=ASYNC_BODY.strip()))
    with RewardEngine("toy", workers=workers, timeout_s=5) as engine:
        engine.score([item("echo 1")])
        started = time.monotonic()
        rewards = engine.score([item("sleep 0.3") for _ in range(40)])
        took = time.monotonic() - started
    assert [r.score for r in rewards] == [0.3] * 40
    assert took < 6  # one after another they would take 12 s


@pytest.mark.parametrize("workers", [0, 1])
def test_a_late_async_reward_is_cancelled(make_pack, workers):
    make_pack("toy", PACK.format(async_="async ", body=ASYNC_BODY.strip()))
    with RewardEngine("toy", workers=workers, timeout_s=0.3) as engine:
        rewards = engine.score([item("hang"), item("echo 1")])
    assert [r.status for r in rewards] == ["timeout", "scored"]


def test_a_blocked_event_loop_is_killed(make_pack):
    make_pack("toy", PACK.format(async_="async ", body=ASYNC_BODY.strip()))
    with RewardEngine("toy", workers=1, timeout_s=0.3) as engine:
        rewards = engine.score([item("block"), item("echo 1")])
    assert [r.status for r in rewards] == ["timeout", "scored"]


@pytest.mark.parametrize(
    ("overlong", "score", "correct"),
    [("keep", 3.0, None), ("mask", 3.0, None), ("zero", 0.0, False)],
)
def test_truncation_is_told_and_costs_what_the_budget_says(sync_pack, overlong, score, correct):
    budget = LengthBudget(prompt_tokens=1, completion_tokens=4, overlong=overlong)
    long = Item(
        prompt=Prompt.from_text("p", "?"),
        completion=Completion(text="echo 3", finish_reason="length"),
        budget=budget,
    )
    with RewardEngine("toy", workers=0) as engine:
        (reward,) = engine.score([long])
    assert (reward.score, reward.correct, reward.truncated) == (score, correct, True)


def test_more_tokens_than_the_budget_is_truncated_too(sync_pack):
    budget = LengthBudget(prompt_tokens=1, completion_tokens=4)
    with RewardEngine("toy", workers=0) as engine:
        rewards = engine.score(
            Item(
                prompt=Prompt.from_text("p", "?"),
                completion=Completion(text="echo 3", tokens=n),
                budget=budget,
            )
            for n in (4, 5)
        )
    assert [r.truncated for r in rewards] == [False, True]


def test_a_large_completion_does_not_block(sync_pack):
    big = "x" * 3_000_000
    with RewardEngine("toy", workers=1, timeout_s=10) as engine:
        rewards = engine.score([item("hang" if n == -1 else big) for n in range(6)])
    assert [r.score for r in rewards] == [0.5] * 6


def test_close_answers_what_is_still_running(sync_pack):
    engine = RewardEngine("toy", workers=1)
    future = engine.submit(item("hang"))
    time.sleep(0.5)
    engine.close()
    reward = future.result(timeout=5)
    assert (reward.score, reward.status) == (None, "error")
    assert engine.submit(item("echo 1")).result(timeout=5).reason == "the engine is closed"


def test_a_pack_that_cannot_open_in_the_worker_says_why(make_pack):
    source = PACK.format(async_="", body=BODY.strip())
    make_pack("toy", source + "\n@hookimpl\ndef open(): raise OSError('no licence server')\n")
    with RewardEngine("toy", workers=1) as engine:
        (reward,) = engine.score([item("echo 1")])
    assert reward.status == "error"
    assert "hook 'open' raised OSError: no licence server" in reward.reason


def test_killing_the_parent_leaves_no_worker(sync_pack, tmp_path):
    import signal
    import subprocess
    import sys

    script = tmp_path / "parent.py"
    script.write_text(
        "import sys, time\n"
        "from cascade_rl import Completion, Prompt\n"
        "from cascade_rl.engine import Item, RewardEngine\n"
        "e = RewardEngine('toy', workers=1)\n"
        "i = Item(prompt=Prompt.from_text('p', '?'), completion=Completion(text='hold'))\n"
        "f = e.submit(i)\n"
        "time.sleep(1.5)\n"
        "print(e._executor._slots[0].worker.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, env=environment
    ) as parent:
        worker = int(parent.stdout.readline())
        assert Path(f"/proc/{worker}").exists()
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 5
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{worker}").exists()


def test_without_blame_such_a_completion_stays_unscored(make_pack):
    make_pack("toy", PACK.format(async_="", body=BODY.strip()) + GOLD)
    with RewardEngine("toy", workers=1, timeout_s=0.4, blame=False) as engine:
        rewards = engine.score([item("hang"), item("raise"), item("nan")])
    assert [(r.score, r.status) for r in rewards] == [
        (None, "timeout"),
        (None, "error"),
        (None, "error"),
    ]


def test_a_worker_that_somebody_else_kills_is_no_evidence_against_the_completion(make_pack):
    body = 'if text == "hang": os.kill(os.getpid(), 9)\n    ' + BODY.strip()
    make_pack("toy", PACK.format(async_="", body=body) + GOLD)
    with RewardEngine("toy", workers=1) as engine:
        killed, exited = engine.score([item("hang"), item("exit")])
    assert (killed.score, killed.status) == (None, "error")
    assert "signal SIGKILL" in killed.reason
    assert (exited.score, exited.components) == (0.0, {"breaks_the_verifier": 1.0})
