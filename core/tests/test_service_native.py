"""The native routes over real HTTP."""

from __future__ import annotations

import httpx
import pytest

from cascade_rl.errors import BadOptions
from cascade_rl.testing import BARE_PACK


def post(url, domain, *items, path="/v1/rewards", **more):
    body = {"domain": domain, "items": list(items), **more}
    return httpx.post(url + path, json=body, timeout=30)


def it(completion, **more):
    return {"ground_truth": "it", "completion": completion, **more}


def test_verdicts_come_in_order_with_ids_whatever_each_takes(serve, obedient):
    url = serve({obedient: {"workers": 2}})
    reply = post(
        url, obedient,
        it("sleep 0.3 score 0.1", id="a"), it("score 0.2", id="b"), it("sleep 0.1 score 0.3", id=7),
    ).json()  # fmt: skip
    assert [(r["id"], r["score"]) for r in reply["rewards"]] == [("a", 0.1), ("b", 0.2), (7, 0.3)]


def test_a_record_says_everything(serve, obedient):
    (record,) = post(serve(obedient), obedient, it("it", finish_reason="length")).json()["rewards"]
    assert record.pop("ms") >= 0
    assert record == {
        "id": 0,
        "score": 1.0,
        "correct": True,
        "status": "scored",
        "reason": "equal",
        "extracted": "it",
        "components": {"exact": 1.0},
        "truncated": True,
        "pack_version": "1.0",
    }


def test_a_budget_that_zeroes_truncated_completions_is_kept(serve, obedient):
    budget = {"prompt_tokens": 8, "completion_tokens": 8, "overlong": "zero"}
    item = it("it", finish_reason="length", budget=budget)
    (record,) = post(serve(obedient), obedient, item).json()["rewards"]
    assert (record["score"], record["correct"], record["truncated"]) == (0.0, False, True)


@pytest.mark.parametrize(
    ("completion", "status"),
    [("abstain", "abstained"), ("bad", "bad_prompt"), ("raise", "error"), ("nan", "error"),
     ("die", "error"), ("hang", "timeout")],
)  # fmt: skip
def test_what_is_not_scored_is_null_and_harms_no_other(serve, obedient, completion, status):
    url = serve({obedient: {"timeout_s": 1.0}})
    reply = post(url, obedient, it(completion), it("it")).json()
    assert [(r["score"], r["status"]) for r in reply["rewards"]] == [
        (None, status),
        (1.0, "scored"),
    ]


def test_no_items_no_rewards(serve, obedient):
    assert post(serve(obedient), obedient).json() == {"domain": "obedient", "rewards": []}


def test_an_unknown_field_and_a_missing_one_are_named(serve, obedient):
    reply = post(serve(obedient), obedient, {"completion": "it", "groundtruth": "it"})
    assert reply.status_code == 422
    assert reply.json() == {
        "code": "invalid",
        "detail": "items.0.ground_truth: Field required; items.0.groundtruth: unknown field",
    }


def test_only_the_allow_list_is_served_and_imported(serve, obedient, make_pack):
    make_pack("other", "raise SystemError('must never be imported')", distribution="fake-other")
    url = serve(obedient)
    reply = post(url, "other", it("it"))
    assert reply.status_code == 404
    assert reply.json()["detail"] == "domain 'other' is not served; served: obedient"
    names = [d["name"] for d in httpx.get(url + "/v1/domains").json()["domains"]]
    assert names == ["obedient"]


def test_a_request_sets_what_the_pack_marks_and_nothing_else(serve, obedient):
    url = serve({obedient: {"options": {"bonus": 1.0}}})
    scores = [
        post(url, obedient, it("it"), options=options).json()["rewards"][0]["score"]
        for options in ({}, {"bonus": 2.0}, {"bonus": 0.0}, {})
    ]
    assert scores == [2.0, 3.0, 1.0, 2.0]
    for options, said in [
        (
            {"secret_path": "/etc/passwd"},
            "is fixed when the service starts (a request may set: bonus)",
        ),
        ({"bonsu": 1}, "does not exist; did you mean 'bonus'? (a request may set: bonus)"),
        ({"bonus": 11}, "less than or equal to 10"),
    ]:
        reply = post(url, obedient, it("it"), options=options)
        assert (reply.status_code, reply.json()["code"]) == (422, "option")
        assert said in reply.json()["detail"]


def test_option_sets_beyond_the_number_kept_take_the_place_of_idle_ones(serve, obedient):
    url = serve(obedient)
    for bonus in (1, 2, 3, 4, 5, 6, 1):
        reply = post(url, obedient, it("it"), options={"bonus": bonus}).json()
        assert reply["rewards"][0]["score"] == 1 + bonus


def test_a_pack_that_marks_a_path_is_refused_at_the_start(serve, make_pack):
    make_pack("leaky", LEAKY, distribution="fake-leaky")
    with pytest.raises(BadOptions, match="option 'file' is marked remote but is a Path"):
        serve("leaky")


def test_domains_lists_schemas_and_hooks_but_no_value(serve, obedient):
    url = serve({obedient: {"options": {"secret_path": "/very/secret"}}})
    reply = httpx.get(url + "/v1/domains")
    (info,) = reply.json()["domains"]
    assert "/very/secret" not in reply.text
    assert info["remote_options"] == ["bonus"]
    assert info["options"]["properties"]["bonus"]["remote"] is True
    assert info["ground_truth"] == {"type": "string", "examples": ["it"]}
    assert (info["distribution"], info["version"]) == ("fake-obedient", "1.0")
    assert "reward" in info["hooks"]


def test_groups_are_shaped_together_and_lone_samples_are_not(serve, make_pack):
    make_pack("ranked", RANKED, distribution="fake-ranked")
    url = serve("ranked")
    reply = post(
        url, "ranked",
        it("score 1", group="g"), it("score 5"), it("score 3", group="g"), it("score 9", group=2),
    ).json()  # fmt: skip
    assert [r["score"] for r in reply["rewards"]] == [-1.0, 5.0, 1.0, 0.0]
    assert reply["shaped"] is False  # it has shape_rewards too, which needs a trainer's batch


def test_a_group_of_two_prompts_is_refused(serve, obedient):
    reply = post(
        serve(obedient), obedient, it("it", group=1), {**it("it", group=1), "ground_truth": "x"}
    )
    assert (reply.status_code, reply.json()["code"]) == (422, "group")


def test_a_group_hook_that_hangs_or_raises_leaves_the_group_unscored(serve, make_pack):
    make_pack("ranked", RANKED, distribution="fake-ranked")
    url = serve({"ranked": {"timeout_s": 1.0}})
    bad = [it("score 66", group=1), it("score 77", group=2), it("score 1", group=3)]
    records = post(url, "ranked", *bad).json()["rewards"]
    assert [(r["score"], r["status"]) for r in records] == [
        (None, "error"), (None, "error"), (0.0, "scored"),
    ]  # fmt: skip
    assert "no answer within 1 s" in records[0]["reason"]
    assert "RuntimeError: seventy-seven" in records[1]["reason"]


def test_health_readiness_and_metrics(serve, obedient, eventually):
    url = serve(obedient)
    assert httpx.get(url + "/healthz").json() == {"status": "healthy"}
    transport = httpx.HTTPTransport(retries=0)
    with httpx.Client(base_url=url, transport=transport) as http:

        def is_ready():
            reply = http.get("/readyz")
            if reply.status_code == 503:
                assert reply.headers["retry-after"] == "1"
            return reply.status_code == 200

        eventually(is_ready)
        assert http.get("/readyz").json() == {"status": "ready"}
    post(url, obedient, it("it"), it("abstain"))
    text = httpx.get(url + "/metrics").text
    assert 'cascade_rewards_total{domain="obedient",status="scored"} 1.0' in text
    assert 'cascade_rewards_total{domain="obedient",status="abstained"} 1.0' in text
    assert 'cascade_requests_total{code="200",route="/v1/rewards"} 1.0' in text


def test_a_domain_whose_example_fails_is_not_ready(serve, make_pack, obedient, eventually):
    source = BROKEN_EXAMPLE
    make_pack("broken", source, distribution="fake-broken")
    url = serve({"broken": {"timeout_s": 5}})

    def refused():
        return httpx.get(url + "/readyz").json()["detail"] == "not ready: broken"

    eventually(refused)
    reply = httpx.get(url + "/readyz")
    assert reply.status_code == 503
    assert reply.json()["detail"] == "not ready: broken"


HEAD = (
    """
from pathlib import Path
from pydantic import BaseModel, Field
"""
    + BARE_PACK
    + """
"""
)
LEAKY = (
    HEAD
    + """
class Options(BaseModel):
    file: Path | None = Field(default=None, json_schema_extra={"remote": True})
@hookimpl
def reward(completion):
    return 1.0
"""
)
RANKED = (
    HEAD
    + """
@hookimpl
def reward(completion):
    return float(completion.text.split()[1])
@hookimpl
def reward_group(rewards):
    scores = [r.score for r in rewards]
    if 77 in scores:
        raise RuntimeError("seventy-seven")
    while 66 in scores:
        pass
    mean = sum(scores) / len(scores)
    return [r.model_copy(update={"score": r.score - mean}) for r in rewards]
@hookimpl
def shape_rewards(batch):
    return [s.reward for s in batch]
"""
)
BROKEN_EXAMPLE = (
    HEAD
    + """
@hookimpl
def reward(completion):
    raise RuntimeError("/secret/place is missing")
@hookimpl
def examples():
    prompt = Prompt.from_text("e", "x", ground_truth="it")
    yield Example(name="e", kind="right", prompt=prompt, completion=Completion(text="it"), expected=1)
"""
)
