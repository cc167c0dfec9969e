"""The ready-made reward functions, called as TRL and verl call them (not by them: tests/peers)."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from cascade_rl.client import ServiceRefused
from cascade_rl.client.trl import RemoteReward
from cascade_rl.client.verl import Unscored, close, compute_score
from cascade_rl.errors import RunError


def call(reward, prompts, completions, **columns):
    return asyncio.run(reward(prompts=prompts, completions=completions, **columns))


@pytest.fixture
def remote(obedient_url):
    made = []

    def make(domain="obedient", **fields):
        made.append(RemoteReward(obedient_url, domain, **fields))
        return made[-1]

    yield make
    for reward in made:
        reward.close()


def test_trl_gets_a_number_or_none_for_each_completion_and_logs(remote):
    reward = remote()
    metrics, extra = {}, {}
    rewards = call(
        reward, ["p"] * 4, ["it", "that", "abstain", "score 2.5"],
        ground_truth=["it"] * 4, completion_ids=[[1]] * 4, trainer_state=object(),
        log_metric=metrics.__setitem__, log_extra=extra.__setitem__,
    )  # fmt: skip
    assert rewards == [1.0, 0.0, None, 2.5]
    assert metrics == {"obedient/unscored": 0.25, "obedient/correct": 0.5}
    assert extra["obedient_reason"][:3] == ["equal", "not equal", "no opinion"]


def test_trl_conversations_and_another_column(remote):
    reward = remote(ground_truth="solution", name="exact")
    prompts = [[{"role": "user", "content": "Say it."}]] * 2
    completions = [
        [{"role": "assistant", "content": "it"}],
        [{"role": "assistant", "content": "t"}, {"role": "tool", "content": "x"},
         {"role": "assistant", "content": [{"type": "text", "text": "hat"}]}],
    ]  # fmt: skip
    assert call(reward, prompts, completions, solution=["it", "that"]) == [1.0, 1.0]
    assert reward.__name__ == "exact"
    assert inspect.iscoroutinefunction(reward.__call__)


def test_trl_works_from_one_event_loop_after_another(remote):
    reward = remote()
    for _ in range(2):
        assert call(reward, ["p"], ["it"], ground_truth=["it"]) == [1.0]


def test_trl_mistakes_are_named(remote):
    reward = remote()
    with pytest.raises(KeyError, match="no column 'ground_truth' \\(columns: answer\\)"):
        call(reward, ["p"], ["it"], answer=["it"])
    with pytest.raises(ValueError, match="1 completions came with 2 ground truths"):
        call(reward, ["p"], ["it"], ground_truth=["it", "it"])
    with pytest.raises(ServiceRefused, match="not served"):
        call(remote("nobody"), ["p"], ["it"], ground_truth=["it"])


@pytest.fixture
def verl(obedient_url, monkeypatch):
    monkeypatch.setenv("CASCADE_REWARD_URL", obedient_url)

    def score(*samples):
        async def all_of_them():
            return await asyncio.gather(
                *(compute_score(data_source="obedient", **sample) for sample in samples)
            )

        return asyncio.run(all_of_them())

    yield score
    close()


def test_verl_gets_the_same_keys_for_every_sample(verl):
    found = verl(
        {"solution_str": "it", "ground_truth": "it", "extra_info": {"index": 3, "split": "train"}},
        {"solution_str": "that", "ground_truth": "it", "extra_info": None},
        {"solution_str": "score 2.5", "ground_truth": "it", "reward_router_address": None},
        {"solution_str": "it", "ground_truth": "it",
         "extra_info": {"finish_reason": "length", "prompt": [{"role": "user", "content": "x"}]}},
    )  # fmt: skip
    assert [f["score"] for f in found] == [1.0, 0.0, 2.5, 1.0]
    assert [f["acc"] for f in found] == [1.0, 0.0, 2.5, 1.0]
    assert [f["truncated"] for f in found] == [0.0, 0.0, 0.0, 1.0]
    assert {tuple(f) for f in found} == {("score", "acc", "extracted", "reason", "truncated")}


def test_verl_a_sample_without_a_score_is_an_error(verl):
    with pytest.raises(Unscored, match="obedient: not scored \\(abstained\\): no opinion"):
        verl({"solution_str": "abstain", "ground_truth": "it"})


def test_verl_the_domain_may_be_one_for_all_rows(verl, monkeypatch):
    monkeypatch.setenv("CASCADE_REWARD_DOMAIN", "nobody")
    with pytest.raises(ServiceRefused, match="domain 'nobody' is not served"):
        verl({"solution_str": "it", "ground_truth": "it"})


def test_verl_without_an_address(monkeypatch):
    monkeypatch.delenv("CASCADE_REWARD_URL", raising=False)
    with pytest.raises(RunError, match="set CASCADE_REWARD_URL"):
        asyncio.run(compute_score("obedient", "it", "it"))
