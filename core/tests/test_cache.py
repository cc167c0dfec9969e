"""Verdicts come back from disk exactly when nothing that could change them has changed."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cascade_rl import Completion, LengthBudget, Prompt, Reward
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.engine.cache_key import KeyMaker
from cascade_rl.engine.item import encode_item
from cascade_rl.engine.key_locks import KeyLocks
from cascade_rl.engine.limits import Limits
from cascade_rl.engine.store import FILE, VerdictStore
from cascade_rl.registry import Registry
from cascade_rl.testing import BARE_PACK

PACK = (
    BARE_PACK
    + """
import os, time
from pydantic import BaseModel

{declared}

class Options(BaseModel):
    log: str
    bonus: float = 0.0

@hookimpl
def gold_completion(prompt): return "gold"

@hookimpl
def reward(prompt, completion, options):
    log = os.open(options.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, b"x")
    os.close(log)
    text = completion.text
    if text == "hang": time.sleep(60)
    if text == "raise": raise ValueError("no luck")
    if text == "slow": time.sleep(0.3)
    if text in ("abstained", "bad_prompt"): return Reward.unscored(text, "as asked")
    if text == "odd":
        return Reward(score=0.1, reason="\\ud800", components={{"a": -0.0, "b": None}})
    return Reward.verdict(True) if text == "gold" else {score} + options.bonus
"""
)


@pytest.fixture
def toy(make_pack, tmp_path):
    """Installs the pack (again); its options count calls in a file."""

    installed: list[str] = []

    def install(score: str = "0.5", declared: str = "") -> dict[str, object]:
        source = PACK.format(score=score, declared=declared)
        if installed:
            (tmp_path / "site-packages" / f"{installed[0]}.py").write_text(source)
        else:
            installed.append(make_pack("toy", source))
        return {"log": str(tmp_path / "calls")}

    return install


def item(text: str = "x", **fields: object) -> Item:
    budget = fields.pop("budget", None)
    finish = fields.pop("finish_reason", "stop")
    prompt = {"ground_truth": 1, "id": "p", "text": "?", **fields}
    return Item(
        prompt=Prompt.from_text(**prompt),  # type: ignore[arg-type]
        completion=Completion(text=text, finish_reason=finish),  # type: ignore[arg-type]
        budget=budget,  # type: ignore[arg-type]
    )


def calls(options: dict[str, object]) -> int:
    log = Path(str(options["log"]))
    return len(log.read_bytes()) if log.exists() else 0


def score(options, items, cache, **engine):
    with RewardEngine("toy", options, cache=cache, **{"workers": 0, **engine}) as opened:
        rewards = opened.score(items)
        return rewards, opened.counts


@pytest.mark.parametrize("workers", [0, 1])
def test_the_second_time_no_reward_is_called_and_the_verdict_is_the_same(toy, tmp_path, workers):
    options, texts = toy(), ["a", "b", "abstained", "bad_prompt", "odd"]
    first, _ = score(options, map(item, texts), tmp_path / "c", workers=workers)
    again, counts = score(options, map(item, texts), tmp_path / "c", workers=workers)
    assert again == first
    assert [r.status for r in again] == ["scored", "scored", "abstained", "bad_prompt", "scored"]
    assert again[4].reason == "\ud800"
    assert (calls(options), counts["cache_hits"]) == (5, 5)


@pytest.mark.parametrize("text", ["hang", "raise"])
def test_faults_and_blame_are_not_stored(toy, tmp_path, text):
    options = toy()
    for _ in range(2):
        (reward,), _ = score(options, [item(text)], tmp_path / "c", workers=1, timeout_s=0.4)
        assert reward.reason.startswith("breaks the verifier twice")
    assert calls(options) == 6  # in each round the sample twice and the gold once


def test_an_edited_verifier_never_meets_an_old_verdict(toy, tmp_path):
    seen = []
    for verifier in ("0.5", "0.25", "0.5"):
        (reward,), counts = score(toy(verifier), [item()], tmp_path / "c", workers=1)
        seen.append((reward.score, counts.get("cache_hits", 0)))
    assert seen == [(0.5, 0), (0.25, 0), (0.5, 1)]


def test_a_verdict_of_a_source_edited_meanwhile_is_not_stored_under_the_old_one(toy, tmp_path):
    options = toy("0.5")
    with RewardEngine("toy", options, workers=1, cache=tmp_path / "c") as engine:
        toy("0.25")  # before the worker has started
        assert engine.score([item()])[0].score == 0.25
    assert score(toy("0.5"), [item()], tmp_path / "c", workers=1)[0][0].score == 0.5


VARIANTS = {
    "completion": item("y"),
    "finish": item(finish_reason="length"),
    "id": item(id="q"),
    "text": item(text="x", id="p", mode="think"),
    "truth": item(ground_truth=2),
    "truth's type": item(ground_truth="1"),
    "truth's number type": item(ground_truth=1.0),
    "truth a bool": item(ground_truth=True),
    "truth not a number": item(ground_truth=float("nan")),
    "truth infinite": item(ground_truth=float("inf")),
    "metadata": item(metadata={"a": 1}),
    "half a character": item("\ud800"),
    "the other half": item("\udc00"),
    "budget": item(budget=LengthBudget(prompt_tokens=1, completion_tokens=2)),
    "overlong": item(budget=LengthBudget(prompt_tokens=1, completion_tokens=2, overlong="zero")),
}


def key(options: dict[str, object], one: Item, **limits: float) -> bytes:
    domain = Registry().open("toy", options)
    values = {"timeout_s": 30.0, "deadline_s": 60.0, "concurrency": 1, **limits}
    return KeyMaker(domain, options, Limits(**values)).key(encode_item(one))  # type: ignore[arg-type]


def test_the_key_sees_everything_that_may_change_a_verdict(toy, monkeypatch):
    options = toy()
    keys = {name: key(options, one) for name, one in VARIANTS.items()}
    keys["same"] = key(options, item())
    keys["options"] = key({**options, "bonus": 1.0}, item())
    keys["time"] = key(options, item(), timeout_s=1.0)
    keys["memory"] = key(options, item(), memory_mb=100)
    monkeypatch.setattr(
        "cascade_rl.engine.cache_key.dependency_versions", lambda _: {"sympy": "99"}
    )
    keys["dependency"] = key(options, item())
    assert len(set(keys.values())) == len(keys)
    monkeypatch.undo()


def test_the_key_is_the_same_in_every_process(toy):
    options = toy()
    assert key(options, item()) == key(options, item())
    assert key(options, item()) == key(options, item(), concurrency=9)


def test_what_json_cannot_hold_is_judged_without_a_cache(toy, tmp_path):
    options, odd = toy(), item(ground_truth=10**5000)
    for _ in range(2):
        (reward,), _ = score(options, [odd], tmp_path / "c")
        assert reward.score == 0.5
    assert calls(options) == 2
    (reward,), _ = score(options, [odd], tmp_path / "c", workers=1)
    assert reward.status == "error"
    assert reward.reason.startswith("this sample cannot be sent to a worker: Exceeds the limit")


def test_a_pack_that_is_not_deterministic_has_no_cache(toy, tmp_path):
    options = toy(declared="DETERMINISTIC = False")
    for _ in range(2):
        score(options, [item()], tmp_path / "c")
    assert calls(options) == 2
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("workers", [0, 2])
def test_equal_samples_at_once_are_judged_once(toy, tmp_path, workers):
    options = toy()
    with RewardEngine("toy", options, workers=workers, cache=tmp_path / "c") as engine:
        threads = [
            threading.Thread(target=lambda: engine.score([item("slow")] * 5)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counts = engine.counts
    assert calls(options) == 1
    assert counts.get("cache_hits", 0) + counts.get("cache_joined", 0) == 39


def test_two_engines_in_one_process_share_a_flight(toy, tmp_path):
    options = toy()
    engines = [RewardEngine("toy", options, workers=1, cache=tmp_path / "c") for _ in range(2)]
    futures = [engine.submit(item("slow")) for engine in engines]
    assert [future.result(20).score for future in futures] == [0.5, 0.5]
    for engine in engines:
        engine.close()
    assert calls(options) == 1


def test_closing_answers_those_who_wait_for_another_engine(toy, tmp_path):
    options = toy()
    first, second = (RewardEngine("toy", options, workers=1, cache=tmp_path / "c") for _ in "ab")
    slow = first.submit(item("hang"))
    waiting = second.submit(item("hang"))
    second.close()
    assert waiting.result(5).reason == "the engine is closed"
    first.close()
    assert slow.result(5).status == "error"


@contextmanager
def open_store(folder: Path, max_mb: int = 10) -> Iterator[VerdictStore]:
    folder.mkdir(exist_ok=True)
    locks = KeyLocks(folder)
    store = VerdictStore(folder, locks, max_mb)
    try:
        yield store
    finally:
        store.close()
        locks.close()


def stored(folder: Path, numbers: range, max_mb: int = 10) -> dict[int, Reward | None]:
    with open_store(folder, max_mb) as store:
        return {n: store.get(key_of(n)) for n in numbers}


def put_all(store: VerdictStore, numbers: range, reason: str = "") -> None:
    """Store one verdict for each number, no faster than the disk takes them."""
    for number in numbers:
        written = threading.Event()
        store.put(key_of(number), Reward(score=float(number), reason=reason), written.set)
        if number % 100 == 0:
            assert written.wait(20)


def key_of(number: int) -> bytes:
    return number.to_bytes(32, "big")


def test_the_store_is_bounded_and_forgets_what_was_not_used_for_longest(tmp_path):
    with open_store(tmp_path, max_mb=1) as store:
        put_all(store, range(3001), "r" * 1000)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size < 6_000_000  # 3 MB of rewards; 1 MB kept, and SQLite's log of at most 4 MB
    kept = [n for n, reward in stored(tmp_path, range(3001), 1).items() if reward]
    assert 300 < len(kept) < 900
    assert kept == list(range(3001 - len(kept), 3001))


def test_what_was_asked_for_lately_is_not_forgotten(tmp_path, monkeypatch):
    with open_store(tmp_path, max_mb=1) as store:
        put_all(store, range(1001), "r" * 1000)
        old = [n for n in range(1001) if store.get(key_of(n))][:50]
        later = time.time() + 7200
        monkeypatch.setattr("cascade_rl.engine.store.time.time", lambda: later)
        assert all(store.get(key_of(n)) for n in old)
        put_all(store, range(2000, 2301), "r" * 1000)
        gone = [n for n in range(1001) if not store.get(key_of(n))]
        assert all(store.get(key_of(n)) for n in old)
    assert len(gone) > 300


def test_what_is_on_disk_is_sqlite_and_json(tmp_path):
    with open_store(tmp_path) as store:
        put_all(store, range(1), "why")
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        ((data,),) = database.execute("SELECT reward FROM verdicts").fetchall()
    assert json.loads(data)["reason"] == "why"


@pytest.mark.parametrize(
    "damage", ["garbage", "empty", "half", "bytes", "tables", "format", "folder", "gone"]
)
def test_a_damaged_file_costs_its_verdicts_and_nothing_else(tmp_path, damage, caplog):
    with open_store(tmp_path) as store:
        put_all(store, range(401), "r" * 200)
    hurt(tmp_path / FILE, damage)
    with open_store(tmp_path) as store:
        for n in range(401):
            assert store.get(key_of(n)) in (None, Reward(score=float(n), reason="r" * 200))
        put_all(store, range(500, 801))
    found = stored(tmp_path, range(500, 801))
    assert all(found[n] == (Reward(score=float(n)) if damage != "folder" else None) for n in found)
    if damage in ("garbage", "half", "tables", "format", "folder"):
        assert "the verdict cache" in caplog.text


def hurt(path: Path, damage: str) -> None:
    content = path.read_bytes()
    if damage == "garbage":
        path.write_bytes(random.Random(0).randbytes(len(content)))
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "half":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "bytes":  # in the rows, where SQLite itself does not look
        places = random.Random(1).sample(range(len(content) // 3, len(content)), 300)
        changed = bytearray(content)
        for place in places:
            changed[place] ^= 1
        path.write_bytes(changed)
    elif damage == "tables":
        with closing(sqlite3.connect(path)) as database:
            database.execute("DROP TABLE verdicts")
    elif damage == "format":
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA user_version = 99")
    elif damage == "gone":
        path.unlink()
    else:
        path.unlink()
        path.mkdir()


def test_damage_while_in_use_is_survived(tmp_path, caplog):
    with open_store(tmp_path) as store:
        put_all(store, range(201), "r" * 200)
        (tmp_path / f"{FILE}-wal").write_bytes(b"")
        (tmp_path / FILE).write_bytes(b"\0" * 100_000)
        for n in range(201):
            assert store.get(key_of(n)) in (None, Reward(score=float(n), reason="r" * 200))
        put_all(store, range(1000, 1201))


def test_a_cache_that_cannot_be_made_is_left_out_with_a_warning(toy, tmp_path, caplog):
    options = toy()
    (tmp_path / "c").write_text("a file, not a folder")
    rewards, _ = score(options, [item()], tmp_path / "c")
    assert rewards[0].score == 0.5
    assert "no verdict cache: " in caplog.text
