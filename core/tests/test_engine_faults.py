"""Packs that misbehave: every sample is answered once, in place, none invented, none zeroed."""

from __future__ import annotations

import json
import logging
import re
import shlex
import stat
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from cascade_rl import Completion, LengthBudget, Prompt
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.engine.quarantine import Quarantine, read_replay
from cascade_rl.errors import DataError
from cascade_rl.testing import BARE_PACK

PACK = (
    BARE_PACK
    + """
import asyncio, ctypes, os, time

KEPT = []

@hookimpl
{async_}def reward(prompt, completion):
    text = completion.text
    if text == "hang": time.sleep(60)
    if text == "late":
        {sleep}(0.7)
        return 99.0
    if text == "leak":
        while True: KEPT.append(bytearray(2_000_000))
    if text == "children leak":
        for _ in range(3):
            if not os.fork():
                kept = [b"x" * 100_000_000]
                time.sleep(60)
        time.sleep(60)
    if text == "segfault": ctypes.string_at(0)
    if text == "quit": raise SystemExit(3)
    if text == "raise": raise ValueError("no such luck")
    if text == "nan": return float("nan")
    if text == "made up": return Reward.model_construct(score=float("nan"), status="scored")
    if text == "half made": return Reward(score=1.0).model_copy(update={{"score": "one"}})
    if text == "noise": print("noise on standard output", flush=True)
    return float(prompt.id)
"""
)

#: fault -> the status of the samples that meet it, and how their reason begins.
FAULTS = {
    "hang": ("timeout", "no verdict within 0.5 s"),
    "late": ("timeout", "no verdict within 0.5 s"),
    "leak": ("error", "needs more than 150 MB of memory, it had "),
    "children leak": ("error", "needs more than 150 MB of memory, it had "),
    "segfault": ("error", "worker for cascade_rl.engine.scorer:serve ended (signal SIGSEGV); tw"),
    "quit": ("error", "SystemExit: 3"),
    "raise": ("error", "ValueError: no such luck"),
    "nan": ("error", "the pack returned nan; a score is finite"),
    "made up": ("error", "the pack returned a Reward that is none: "),
    "half made": ("error", "the pack returned a Reward that is none: "),
    "noise": ("scored", ""),
}


def install(make_pack, async_: str = "") -> None:
    sleep = "await asyncio.sleep" if async_ else "time.sleep"
    make_pack("toy", PACK.format(async_=async_, sleep=sleep))


def items(texts: list[str]) -> list[Item]:
    return [
        Item(prompt=Prompt.from_text(str(n), "?"), completion=Completion(text=text))
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize("fault", FAULTS)
def test_every_sample_beside_a_fault_is_answered_once_in_place(make_pack, fault):
    install(make_pack)
    texts = [fault if n in (0, 17) else "well" for n in range(200)]
    seen: Counter[int] = Counter()
    # "children leak" would be killed for its time before its memory is seen, at half a second
    timeout_s = 20 if "leak" in fault else 0.5
    with RewardEngine("toy", workers=2, timeout_s=timeout_s, memory_mb=150) as engine:
        for (number, text), reward in engine.stream(zip(enumerate(texts), items(texts))):  # noqa: B905
            seen[number] += 1
            if text == "well":
                assert (reward.status, reward.score) == ("scored", float(number)), reward
                continue
            status, reason = FAULTS[fault]
            assert reward.status == status, reward
            assert reward.reason.startswith(reason), reward
            assert reward.score == (float(number) if status == "scored" else None)
            assert reward.correct is None
    assert seen == Counter(range(200))


def test_a_slow_leak_costs_workers_and_no_sample(make_pack):
    install(make_pack)
    source = PACK.replace("text = completion.text", "text = ''; KEPT.append(b'x' * 10_000_000)")
    make_pack("leaky", source.format(async_="", sleep=""), distribution="leaky")
    with RewardEngine("leaky", workers=1, memory_mb=200) as engine:
        rewards = engine.score(items(["well"] * 60))
        counts = engine.counts
    assert [reward.score for reward in rewards] == [float(n) for n in range(60)]
    assert counts["workers_over_memory"] >= 3
    assert counts["second_tries"] <= counts["workers_over_memory"]
    assert "quarantined" not in counts


def test_memory_is_not_address_space(make_pack):
    reserve = "import mmap; KEPT.append(mmap.mmap(-1, 10**10)); text = ''"
    make_pack("wide", PACK.replace("text = completion.text", reserve).format(async_="", sleep=""))
    with RewardEngine("wide", workers=1, memory_mb=150) as engine:
        assert [r.score for r in engine.score(items(["well"] * 3))] == [0.0, 1.0, 2.0]


def test_a_worker_that_cannot_start_in_its_memory_says_so(make_pack):
    make_pack("big", "KEPT = b'x' * 200_000_000\n" + PACK.format(async_="", sleep=""))
    with RewardEngine("big", workers=1, memory_mb=100) as engine:
        (reward,) = engine.score(items(["well"]))
    assert reward.reason.startswith(
        "no worker could be started: needs more than 100 MB of memory, it had "
    )


@pytest.mark.parametrize("fault", ["hang", "late", "segfault", "raise", "nan"])
def test_async_packs_lose_nobody_either(make_pack, fault):
    install(make_pack, "async ")
    texts = [fault if n == 5 else "well" for n in range(80)]
    with RewardEngine("toy", workers=2, timeout_s=0.5) as engine:
        rewards = engine.score(items(texts))
    assert rewards[5].status == FAULTS[fault][0]
    assert [r.score for r in rewards] == [None if n == 5 else float(n) for n in range(80)]


def test_the_replay_command_of_a_quarantined_sample_works(make_pack, tmp_path, caplog):
    install(make_pack)
    hostile = Item(
        prompt=Prompt.from_text("7", "?", ground_truth=[1, "\ud800"], metadata={"a": 1}),
        completion=Completion(text="segfault", tokens=3),
        budget=LengthBudget(prompt_tokens=1, completion_tokens=2),
    )
    with RewardEngine("toy", workers=1, quarantine_dir=tmp_path / "q", memory_mb=300) as engine:
        (reward,) = engine.score([hostile])
    command = shlex.split(reward.reason.partition("replay it: ")[2])
    path = Path(command[3])
    assert command == f"cascade score toy {path} --workers 1 --timeout 30 --memory-mb 300".split()
    assert path.parent == tmp_path / "q"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    replay = read_replay(path)
    assert (replay.domain, replay.options, replay.item) == ("toy", {}, hostile)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("cascade")), *command[1:]],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path), "XDG_CACHE_HOME": str(tmp_path / "other")},
    )
    assert done.returncode == 1, done.stderr
    record = json.loads(done.stdout)
    assert (record["id"], record["status"], record["score"]) == ("7", "error", None)
    assert "signal SIGSEGV" in record["reason"]
    assert "replay it: cascade score toy" in caplog.text


def test_a_sample_that_hangs_twice_keeps_its_status_and_is_kept_too(make_pack, tmp_path, caplog):
    install(make_pack)
    with RewardEngine("toy", workers=1, timeout_s=0.4, quarantine_dir=tmp_path) as engine:
        (reward,) = engine.score(items(["hang"]))
    assert (reward.status, reward.reason) == ("timeout", "no verdict within 0.4 s")
    (path,) = tmp_path.glob("toy-*.json")
    assert f"cascade score toy {path} --workers 1 --timeout 0.4" in caplog.text


def quarantine(folder: Path, options: dict[str, object] | None = None) -> Quarantine:
    from cascade_rl.engine.limits import Limits

    limits = Limits(deadline_s=1, concurrency=1)
    return Quarantine(folder, "toy", options or {}, limits)


def test_a_quarantine_that_cannot_be_written_says_so(tmp_path, monkeypatch):
    from cascade_rl import Reward

    (tmp_path / "file").write_text("")
    failed, (item,) = Reward.unscored("error", "why"), items(["x"])
    text = quarantine(tmp_path / "file").keep(item, failed)
    assert text.startswith("its replay file could not be written: ")
    monkeypatch.setattr("cascade_rl.engine.quarantine.MAX_FILES", 1)
    assert quarantine(tmp_path / "q").keep(item, failed).startswith("replay it: ")
    (other,) = items(["y"])
    assert "holds 1 files already; delete some" in quarantine(tmp_path / "q").keep(other, failed)


def test_a_replay_file_of_another_domain_or_none_at_all_is_told(make_pack, tmp_path):
    from cascade_rl import Reward
    from cascade_rl.cli.score import _replay

    text = quarantine(tmp_path, {"a": 1}).keep(items(["x"])[0], Reward.unscored("error", "why"))
    path = Path(re.findall(r"\S+\.json", text)[0])
    assert _replay("toy", path).options == {"a": 1}
    with pytest.raises(DataError, match=f"domain 'toy', not 'math': cascade score toy {path}"):
        _replay("math", path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match="begins like a replay file and is none"):
        read_replay(path)
    path.write_text('{"id": 1}')
    assert read_replay(path) is None


def test_options_that_no_worker_could_be_told_are_refused_at_once(make_pack):
    from cascade_rl.errors import EngineError

    source = "from typing import Any\nfrom pydantic import BaseModel\n" + PACK.format(
        async_="", sleep="time.sleep"
    )
    make_pack("toy", source + "\nclass Options(BaseModel):\n    a: Any = None\n")
    with pytest.raises(
        EngineError, match=r"option 'a' is PosixPath\('x'\), which JSON cannot hold"
    ):
        RewardEngine("toy", {"a": Path("x")}, workers=1)
    with RewardEngine("toy", {"a": Path("x")}, workers=0) as engine:
        assert engine.score(items(["well"]))[0].score == 0.0


def test_a_machine_that_starts_no_processes_is_told_and_tried_again(make_pack, monkeypatch):
    install(make_pack)
    monkeypatch.setattr("cascade_rl.engine.crew.COOL_DOWN_S", 0.3)

    def refuse(*_):
        raise OSError(24, "Too many open files")

    with RewardEngine("toy", workers=1) as engine:
        with monkeypatch.context() as broken:
            broken.setattr("cascade_rl.engine.crew.WorkerProcess", refuse)
            (reward,) = engine.score(items(["well"]))
        assert reward.reason.startswith("no worker could be started: [Errno 24] Too many open")
        time.sleep(0.4)
        assert engine.score(items(["well"]))[0].score == 0.0


def test_a_fault_of_the_engine_itself_is_an_error_and_stops_nothing(make_pack, monkeypatch, caplog):
    install(make_pack)
    monkeypatch.setattr(Quarantine, "keep", lambda *_: 1 / 0)
    with RewardEngine("toy", workers=1) as engine:
        rewards = engine.score(items(["segfault", "well"]))
    assert [r.score for r in rewards] == [None, 1.0]
    assert rewards[0].reason == "the engine's own fault: ZeroDivisionError: division by zero"
    assert caplog.records[-1].levelno == logging.ERROR


def test_an_answer_that_is_none_of_ours_costs_one_sample(make_pack):
    forge = "if text == 'raise': [os.write(fd, b'{}\\n') for fd in range(3, 99) if sock(fd)]"
    source = PACK.replace('if text == "raise": raise ValueError("no such luck")', forge)
    source = source.replace(
        "KEPT = []", "import stat\ndef sock(fd):\n"
        "    try: return stat.S_ISSOCK(os.fstat(fd).st_mode)\n"
        "    except OSError: return False\n",
    )  # fmt: skip
    make_pack("toy", source.replace("{}", "{{}}").format(async_="", sleep="time.sleep"))
    with RewardEngine("toy", workers=1) as engine:
        rewards = engine.score(items(["well", "raise", "well"]))
    assert [r.score for r in rewards] == [0.0, None, 2.0]
    assert rewards[1].reason.startswith("its worker's connection holds what is no answer")


def test_a_cancelled_future_stops_nothing(make_pack):
    install(make_pack)
    with RewardEngine("toy", workers=1) as engine:
        futures = [engine.submit(one) for one in items(["well"] * 3)]
        assert not any(future.cancel() for future in futures)
        assert [future.result(20).score for future in futures] == [0.0, 1.0, 2.0]


def test_closing_is_quick_and_may_be_repeated(make_pack):
    install(make_pack)
    engine = RewardEngine("toy", workers=2)
    engine.score(items(["well"] * 20))
    started = time.monotonic()
    engine.close()
    engine.close()
    assert time.monotonic() - started < 3
    never_used = RewardEngine("toy", workers=2)
    never_used.close()
    assert never_used.submit(items(["well"])[0]).result(5).reason == "the engine is closed"


@pytest.mark.parametrize("async_", ["", "async "])
def test_a_process_that_a_pack_forks_answers_nothing(make_pack, async_):
    make_pack(
        "toy",
        BARE_PACK
        + f"""
import os

@hookimpl
{async_}def reward(prompt, completion):
    if os.fork() == 0: return 99.0
    os.wait()
    return float(prompt.id)
""",
    )
    with RewardEngine("toy", workers=1) as engine:
        rewards = engine.score(
            Item(prompt=Prompt.from_text(str(n), "?"), completion=Completion(text="x"))
            for n in range(20)
        )
        assert [r.score for r in rewards] == [float(n) for n in range(20)]
        assert "workers_died" not in engine.counts
