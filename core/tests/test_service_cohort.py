"""Groups out of single requests: complete, incomplete, abandoned, mixed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from cascade_rl.errors import ConfigError
from cascade_rl.service.scoring import Scoring
from cascade_rl.service.settings import ServiceSettings, build_settings
from cascade_rl.testing import BARE_PACK

RANKED = (
    BARE_PACK
    + """
@hookimpl
def reward(completion):
    return float(completion.text)
@hookimpl
def reward_group(prompt, completions, rewards):
    mean = sum(r.score for r in rewards) / len(rewards)
    return [r.model_copy(update={"score": r.score - mean, "reason": str(len(rewards))}) for r in rewards]
"""
)


@pytest.fixture
def ranked(make_pack):
    make_pack("ranked", RANKED, distribution="fake-ranked")
    return "ranked"


def ask(url, response, prompt="a", path="/slime"):
    body = {"prompt": prompt, "response": str(response), "label": "x"}
    return httpx.post(url + path, json=body, timeout=30)


def test_single_requests_of_one_prompt_are_answered_as_a_group(serve, ranked):
    url = serve({ranked: {"cohort": {"size": 3, "deadline_s": 20}}})
    with ThreadPoolExecutor(8) as pool:
        sent = [("a", 1), ("b", 10), ("a", 2), ("b", 20), ("a", 6), ("b", 60)]
        replies = list(pool.map(lambda s: ask(url, s[1], s[0]).json(), sent))
    assert replies == [-2.0, -20.0, -1.0, -10.0, 3.0, 30.0]


def test_one_request_may_hold_a_whole_cohort(serve, ranked):
    url = serve({ranked: {"cohort": {"size": 2, "deadline_s": 20}}})
    body = {"query": ["p1", "p3", "q5", "q9"], "prompts": ["p", "p", "q", "q"]}
    reply = httpx.post(url + "/get_reward", json=body, timeout=30)
    assert reply.json()["rewards"] == [-1.0, 1.0, -2.0, 2.0]


def test_an_incomplete_cohort_is_refused_at_its_deadline(serve, ranked):
    url = serve({ranked: {"cohort": {"size": 3, "deadline_s": 0.3}}})
    with ThreadPoolExecutor() as pool:
        replies = list(pool.map(lambda n: ask(url, n), (1, 2)))
    for reply in replies:
        assert (reply.status_code, reply.json()["code"]) == (422, "cohort_incomplete")
        assert reply.json()["detail"] == "2 of 3 completions of this prompt came in 0.3 s"
    with ThreadPoolExecutor() as pool:  # and the next cohort starts from nothing
        replies = list(pool.map(lambda n: ask(url, n).json(), (1, 2, 3)))
    assert replies == [-1.0, 0.0, 1.0]


def test_without_a_stated_cohort_single_requests_are_refused(serve, ranked):
    reply = ask(serve(ranked), 1)
    assert (reply.status_code, reply.json()["code"]) == (422, "needs_groups")


def test_the_native_route_needs_no_cohort(serve, ranked):
    url = serve(ranked)
    items = [{"ground_truth": None, "completion": c, "group": 1} for c in ("1", "3")]
    reply = httpx.post(url + "/v1/rewards", json={"domain": ranked, "items": items})
    assert [r["score"] for r in reply.json()["rewards"]] == [-1.0, 1.0]


def test_cohorts_and_several_processes_do_not_go_together():
    data = {"domains": {"x": {"cohort": {"size": 2}}}, "processes": 2}
    with pytest.raises(ConfigError, match="members must meet in one process"):
        build_settings(data, "test")


def test_a_cohort_of_a_domain_that_rewards_no_groups_is_refused_at_once(obedient):
    settings = ServiceSettings.model_validate({"domains": {obedient: {"cohort": {"size": 2}}}})
    with pytest.raises(ConfigError, match="its pack has no reward_group"):
        Scoring(settings)
