"""Concurrency, rate, transient faults, deadlines: whose word holds, and what is kept."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cascade_rl import Completion, Prompt
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.engine.attempt import Attempt
from cascade_rl.engine.limits import Limits, Pace
from cascade_rl.engine.transient import LONGEST_PAUSE_S, next_due, pause_s
from cascade_rl.engine.verdict import fault
from cascade_rl.errors import BadDeclaration, TransientError
from cascade_rl.registry import Registry
from cascade_rl.testing import BARE_PACK

PACK = (
    BARE_PACK
    + """
import asyncio, os, time
from pathlib import Path
from cascade_rl.errors import TransientError

{declared}
LOG = {log!r}
ACTIVE = 0

@hookimpl
def gold_completion(prompt): return "gold"

@hookimpl
{async_}def reward(completion):
    global ACTIVE
    text = completion.text
    if text == "active":
        ACTIVE += 1
        most = ACTIVE
        {sleep}(0.1)
        ACTIVE -= 1
        return most
    if text == "pid": return os.getpid()
    if text == "when": return time.monotonic()
    if text == "gold": return True
    with Path(LOG).open("a") as file:
        file.write(f"{{time.monotonic()}}\\n")
    tries = len(Path(LOG).read_text().splitlines())
    if text.startswith("fails "):
        if tries > int(text[6:]): return float(tries)
        raise TransientError("503, try again", {after})
    raise ValueError("for good")
"""
)


@pytest.fixture
def install(make_pack, tmp_path, monkeypatch):
    """Installs the pack, async or not, with declarations; pauses are short."""
    monkeypatch.setattr("cascade_rl.engine.transient.FIRST_PAUSE_S", 0.02)

    def make(declared: str = "", is_async: bool = False, after: object = None) -> None:
        text = PACK.format(
            declared=declared,
            log=str(tmp_path / "log"),
            async_="async " if is_async else "",
            sleep="await asyncio.sleep" if is_async else "time.sleep",
            after=after,
        )
        make_pack("toy", text)

    return make


def items(text: str, count: int = 1) -> list[Item]:
    one = Item(prompt=Prompt.from_text("p", "?"), completion=Completion(text=text))
    return [one] * count


def tries(tmp_path: Path) -> list[float]:
    return [float(line) for line in (tmp_path / "log").read_text().splitlines()]


@pytest.mark.parametrize(
    ("declared", "options", "workers", "most"),
    [
        ("CONCURRENCY = 3", {}, 1, 3),
        ("CONCURRENCY = 3", {}, 0, 3),
        ("CONCURRENCY = 6", {}, 2, 3),
        ("CONCURRENCY = 3", {"concurrency": 5}, 1, 5),
        ("", {"concurrency": 1}, 1, 1),
    ],
)
def test_the_callers_concurrency_goes_before_the_packs(install, declared, options, workers, most):
    install(declared, is_async=True)
    with RewardEngine("toy", workers=workers, **options) as engine:
        rewards = engine.score(items("active", 24))
    assert max(r.score for r in rewards) == most


def test_concurrency_of_a_synchronous_pack_is_a_number_of_workers(install):
    install("CONCURRENCY = 1")
    with RewardEngine("toy", workers=3) as engine:
        assert len({r.score for r in engine.score(items("pid", 50))}) == 1


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_the_rate_is_kept_and_used(install, is_async, workers):
    install("RATE_PER_S = 100", is_async=is_async)
    with RewardEngine("toy", workers=workers) as engine:
        engine.score(items("gold"))  # the workers are up
        times = sorted(r.score for r in engine.score(items("when", 60)))
    # 59 gaps of 10 ms, less the 0.1 s that a late dispatcher may catch up on, and some jitter.
    assert times[-1] - times[0] >= 0.59 - 0.1 - 0.05
    assert times[-1] - times[0] < 3


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("workers", [0, 1])
def test_a_transient_fault_is_tried_again_until_it_passes(install, tmp_path, workers, is_async):
    install(is_async=is_async)
    with RewardEngine("toy", workers=workers) as engine:
        (reward,) = engine.score(items("fails 3"))
    assert (reward.score, len(tries(tmp_path))) == (4.0, 4)


@pytest.mark.parametrize("workers", [0, 1])
def test_tries_end_and_the_completion_is_not_to_blame(install, tmp_path, workers):
    install()
    with RewardEngine("toy", workers=workers) as engine:
        (reward,) = engine.score(items("fails 99"))
    assert (reward.score, reward.status) == (None, "error")  # though the gold completion passes
    assert reward.reason.startswith("TransientError: 503, try again (tried 5 times in 0.")
    assert len(tries(tmp_path)) == 5


def test_no_try_is_made_that_would_end_after_the_deadline(install, tmp_path):
    install(after=0.4)
    with RewardEngine("toy", workers=1, deadline_s=1.0) as engine:
        (reward,) = engine.score(items("fails 99"))
    first, *_, last = times = tries(tmp_path)
    assert (reward.status, len(times)) == ("error", 3)
    assert 0.8 <= last - first < 1.0


def test_the_server_may_ask_for_a_longer_pause(install, tmp_path):
    install(after=0.5)
    with RewardEngine("toy", workers=1) as engine:
        assert engine.score(items("fails 1"))[0].score == 2.0
    first, second = tries(tmp_path)
    assert second - first >= 0.5


def test_any_other_fault_is_tried_twice(install, tmp_path):
    install()
    with RewardEngine("toy", workers=1) as engine:
        (reward,) = engine.score(items("other"))
    assert reward.reason.startswith("breaks the verifier twice (ValueError: for good)")
    assert len(tries(tmp_path)) == 2


def test_one_sample_that_waits_holds_up_no_other(install):
    install(after=1.0)
    with RewardEngine("toy", workers=1) as engine:
        engine.score(items("gold"))
        slow = engine.submit(items("fails 1")[0])
        started = time.monotonic()
        engine.score(items("gold", 50))
        assert time.monotonic() - started < 0.9
        assert not slow.done()
        assert slow.result(10).score == 2.0


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("CONCURRENCY = 0", "CONCURRENCY is 0; it must be a whole number from 1 on"),
        ("CONCURRENCY = True", "CONCURRENCY is True; it must be a whole number from 1 on"),
        ("RATE_PER_S = '5'", "RATE_PER_S is '5'; it must be a number above 0"),
        ("RATE_PER_S = float('inf')", "RATE_PER_S is inf; it must be a number above 0"),
        ("DETERMINISTIC = 'no'", "DETERMINISTIC is 'no'; it must be True or False"),
    ],
)
def test_a_useless_declaration_is_refused_at_load(install, declared, message):
    install(declared)
    with pytest.raises(BadDeclaration, match="domain 'toy' from fake-haiku") as raised:
        Registry().open("toy")
    assert str(raised.value).endswith(message)


def test_a_class_may_declare_by_its_options(make_pack):
    source = PACK.format(declared="", log="", async_="", sleep="", after=None)
    make_pack(
        "toy",
        source + "\nclass Pack:\n"
        "    CONCURRENCY = 7\n"
        "    def __init__(self): self.DETERMINISTIC = False\n"
        "    load_prompts, reward = staticmethod(load_prompts), staticmethod(reward)\n"
        "    length_budget = staticmethod(length_budget)\n"
        "    sampling_params = staticmethod(sampling_params)\n",
        attribute="Pack",
    )
    declared = Registry().open("toy").declared
    assert (declared.deterministic, declared.concurrency, declared.rate_per_s) == (False, 7, None)


def test_limits_are_shared_between_nodes():
    limits = Limits(deadline_s=1, concurrency=5, rate_per_s=10)
    assert limits.share(1) is limits
    assert (limits.share(2).concurrency, limits.share(2).rate_per_s) == (2, 5)
    assert (limits.share(9).concurrency, limits.share(9).rate_per_s) == (1, 10 / 9)


def test_a_pace_spaces_evenly_and_catches_up_a_little():
    pace = Pace(10)
    assert pace.wait_s(100.0) == 0
    pace.take(100.0)
    assert pace.wait_s(100.0) == pytest.approx(0.0)  # 0.1 s behind: it may catch up once
    pace.take(100.0)
    assert pace.wait_s(100.0) == pytest.approx(0.1)
    assert Pace(None).wait_s(0) == 0


def test_pauses_double_up_to_a_cap_and_are_jittered():
    first = [pause_s(1, 0) for _ in range(200)]
    assert 0.25 <= min(first) < 0.3 < 0.45 < max(first) <= 0.5
    assert 1.0 <= pause_s(3, 0) <= 2.0
    assert LONGEST_PAUSE_S / 2 <= pause_s(50, 0) <= LONGEST_PAUSE_S
    assert pause_s(1, 7.0) == 7.0


def test_only_a_transient_error_is_due_again():
    limits = Limits(deadline_s=1e9, concurrency=1, tries=2)
    assert next_due(limits, 0.0, 1, fault(ValueError("x"))) is None
    attempt: Attempt = fault(TransientError("x"))
    assert next_due(limits, 0.0, 1, attempt) > time.monotonic()
    assert next_due(limits, 0.0, 2, attempt) is None
    assert attempt.final
