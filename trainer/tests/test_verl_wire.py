"""What travels through verl: requests, verdicts, prompts as parquet, the job file."""

from __future__ import annotations

import json
import math

import pytest

from cascade_rl.config import load_config, trace
from cascade_rl.registry import Registry
from cascade_rl.types import LengthBudget, Message, Prompt, Reward, SamplingParams
from cascade_rl_trainer.verl.data import read_prompts, write_prompts
from cascade_rl_trainer.verl.job import Job, read_job, read_outcome, write_outcome
from cascade_rl_trainer.verl.wire import (
    Request,
    completion_of,
    finish_reason,
    from_wire,
    to_wire,
)

REWARDS = [
    Reward(score=-12.5, correct=None, components={"a": 1.0, "b": None}),
    Reward.verdict(True, reason="right", truncated=True, extracted="4", ms=1.5),
    Reward.unscored("timeout", "no verdict within 3 s"),
    Reward.unscored("abstained", "half a surrogate: \ud800"),
]


def odd_prompt():
    return Prompt(
        id="p/1 \ud800",
        messages=(Message(role="system", content="s"), Message(role="user", content="\ud83d x")),
        ground_truth={"kwargs": [None, 1.5, "é"], "n": None},
        mode="think",
        metadata={"source": "x"},
    )


@pytest.mark.parametrize("reward", REWARDS)
def test_a_reward_comes_back_as_it_was(reward):
    assert from_wire(to_wire(reward)["reward_extra_info"]) == reward


def test_the_wire_has_the_same_keys_for_every_sample_and_no_zero_for_the_unscored():
    wires = [to_wire(reward) for reward in REWARDS]
    assert len({tuple(wire["reward_extra_info"]) for wire in wires}) == 1
    assert "reward" not in wires[0]["reward_extra_info"]  # verl adds a key of that name
    assert [w["reward_score"] for w in wires[:2]] == [-12.5, 1.0]
    for wire, status in zip(wires[2:], ("timeout", "abstained"), strict=True):
        assert math.isnan(wire["reward_score"])
        assert math.isnan(wire["reward_extra_info"]["score"])
        assert wire["reward_extra_info"]["status"] == status


def test_a_request_comes_back_as_it_was_and_is_ascii():
    request = Request(
        domain="math",
        prompt=odd_prompt(),
        budget=LengthBudget(prompt_tokens=8, completion_tokens=9, overlong="mask"),
        sampling=SamplingParams(temperature=0.8, top_k=20, n=16),
        seeds=(3, "math-1", 17),
    )
    text = request.encode()
    assert text.isascii()
    assert Request.decode(text) == request


@pytest.mark.parametrize(
    ("token_ids", "limit", "reason"),
    [
        ([5, 6, 2], 3, "stop"),  # the stop token is the last that fits
        ([5, 6, 7], 3, "length"),
        ([5, 6], 3, "stop"),  # the engine's own end token, unknown to us
        ([2], 3, "stop"),
        ([], 3, "stop"),
    ],
)
def test_finish_reason(token_ids, limit, reason):
    assert finish_reason(token_ids, limit, (2, 9)) == reason


def test_a_completion_is_decoded_as_in_the_local_backend(make_policy):
    template = make_policy().template
    token_ids = template.completion_ids("so \\boxed{4}")
    completion = completion_of(token_ids, 100, template)
    assert (completion.text, completion.finish_reason) == ("so \\boxed{4}", "stop")
    assert completion.tokens == len(token_ids)
    cut = completion_of(token_ids[:-1], len(token_ids) - 1, template)
    assert (cut.text, cut.finish_reason) == ("so \\boxed{4}", "length")


def test_prompts_survive_parquet_with_payloads_of_different_shapes(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="comes with the extra `verl`")

    prompts = [
        ("math", Prompt.from_text("m1", "1+1", ground_truth="2")),
        ("ifeval", Prompt.from_text("i1", "say", ground_truth={"kwargs": [{"n": 1}]})),
        ("swe", odd_prompt()),
    ]
    path = tmp_path / "deep" / "prompts.parquet"
    assert write_prompts(path, prompts) == 3
    rows = parquet.read_table(path).to_pylist()
    assert read_prompts(rows) == prompts
    assert rows[1]["reward_model"] == {
        "style": "rule",
        "ground_truth": json.dumps({"kwargs": [{"n": 1}]}),
    }
    assert [row["extra_info"]["index"] for row in rows] == [0, 1, 2]
    assert rows[0]["prompt"] == [{"role": "user", "content": "1+1"}]


def test_a_job_and_an_outcome_survive_their_files(echo_pack, tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(
        "name: c\nmodel: {build: {}}\nverl: {trainer: {nnodes: 2}}\n"
        "stages: [{name: rl, domain: echo, steps: 2, verl: {trainer: {nnodes: 3}}}]\n"
    )
    cascade = trace(*load_config(file), Registry()).cascade()
    job = Job(cascade=cascade, folder=str(tmp_path), stage=0)
    job.write(tmp_path / "job.json")
    assert read_job(str(tmp_path / "job.json")) == job
    assert [d.name for d in job.domains] == ["echo"]
    assert Job(cascade=cascade, folder="x").domains == cascade.evaluation
    assert read_outcome(tmp_path) == {}
    write_outcome(tmp_path, steps=2, ended="all steps")
    assert read_outcome(tmp_path) == {"steps": 2, "ended": "all steps"}
