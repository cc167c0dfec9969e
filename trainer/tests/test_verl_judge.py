"""Rewards in verl's reward workers: faults are unscored, and the service gives the same."""

from __future__ import annotations

import asyncio
import sys

import pytest

from cascade_rl.config import load_config, trace
from cascade_rl.registry import Registry
from cascade_rl.testing import write_pack
from cascade_rl.types import Completion
from cascade_rl_trainer.verl import judge as judge_module
from cascade_rl_trainer.verl.job import Job
from cascade_rl_trainer.verl.judge import Judge
from cascade_rl_trainer.verl.wire import Request

FAULTY = '''
"""Answers by the prompt: raises, hangs, returns nothing, or a score."""
from cascade_rl import LengthBudget, Prompt, Reward, SamplingParams, hookimpl

KINDS = ("raise", "hang", "none", "ok")

@hookimpl
def load_prompts(): return [Prompt.from_text(f"{k}-{i}", k) for k in KINDS for i in range(9)]

@hookimpl
def reward(prompt, completion):
    if prompt.text == "raise": raise ValueError("no such luck")
    if prompt.text == "none": return None
    while prompt.text == "hang": pass
    return Reward.verdict("y" in completion.text)

@hookimpl
def length_budget(): return LengthBudget(prompt_tokens=8, completion_tokens=4)

@hookimpl
def sampling_params(): return SamplingParams(n=2)
'''


@pytest.fixture
def job(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    module = write_pack(site, "faulty", FAULTY, distribution="fake-faulty")

    def make(*overrides: str) -> Job:
        file = tmp_path / "c.yaml"
        file.write_text(
            "name: c\nmodel: {build: {}}\nreward_timeout_s: 0.5\n"
            "stages: [{name: rl, domain: faulty, steps: 1, batch_size: 4}]\n"
        )
        cascade = trace(*load_config(file, list(overrides)), Registry()).cascade()
        return Job(cascade=cascade, folder=str(tmp_path), stage=0)

    yield make
    sys.modules.pop(module, None)


def rewards_of(job, texts=(("raise", "x"), ("hang", "x"), ("none", "x"), ("ok", "y"), ("ok", "n"))):
    prompts = {p.text: p for p in Registry().open("faulty").load_prompts("train")}
    domain = job.domains[0]

    async def all_of_them():
        found = Judge(job)
        try:
            requests = [
                Request(
                    domain="faulty",
                    prompt=prompts[kind],
                    budget=domain.budget,
                    sampling=domain.sampling,
                    seeds=(0, "rl", 0),
                )
                for kind, _ in texts
            ]
            return await asyncio.gather(
                *(
                    found.reward(r, Completion(text=text, tokens=1))
                    for r, (_, text) in zip(requests, texts, strict=True)
                )
            )
        finally:
            found.close()

    return asyncio.run(all_of_them())


def test_a_reward_that_raises_hangs_or_returns_none_is_unscored_and_the_others_are_not(job):
    found = rewards_of(job())
    assert [(r.status, r.score) for r in found] == [
        ("error", None),
        ("timeout", None),
        ("error", None),
        ("scored", 1.0),
        ("scored", 0.0),
    ]
    assert "no such luck" in found[0].reason


def test_a_weighted_total_has_no_score_where_a_term_has_none(job):
    terms = "stages.rl.rewards=[{domain: faulty}, {modifier: length, weight: -0.5}]"
    found = rewards_of(job(terms), (("raise", "x"), ("ok", "y")))
    assert found[0].score is None
    assert found[0].status == "error"
    assert found[1].score == pytest.approx(1.0 - 0.5 * found[1].components["length"])


def test_a_fault_of_the_source_itself_is_unscored(job, monkeypatch):
    class Broken:
        def submit(self, item):
            raise OSError("disk on fire")

        def close(self):
            pass

    monkeypatch.setattr(judge_module, "engine_for", lambda *_: Broken())
    (found,) = rewards_of(job(), (("ok", "y"),))
    assert (found.status, found.score) == ("error", None)
    assert "disk on fire" in found.reason


def test_with_a_service_url_every_domain_is_asked_there(job, monkeypatch):
    made = []
    pytest.importorskip("httpx")
    import cascade_rl.client

    class Client:
        def __init__(self, url, domain, token):
            made.append((url, domain, token))

        def close(self):
            pass

    monkeypatch.setattr(cascade_rl.client, "RewardClient", Client)
    monkeypatch.setenv("CASCADE_REWARD_TOKEN", "secret")
    Judge(job(), service_url="http://rewards:8000").close()
    assert made == [("http://rewards:8000", "faulty", "secret")]
