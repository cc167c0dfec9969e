"""Our part of each step of verl's loop: draws, filters, verdicts, logs, and going on."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from zlib import crc32

import pytest

from cascade_rl.config import load_config, trace
from cascade_rl.errors import RunError
from cascade_rl.registry import Registry
from cascade_rl.types import Completion, LengthBudget, Prompt, Reward
from cascade_rl_trainer.local.feed import PromptFeed
from cascade_rl_trainer.local.grpo import GrpoStage
from cascade_rl_trainer.local.rollout import Group, Rollout
from cascade_rl_trainer.local.watch import Watch
from cascade_rl_trainer.verl.job import Job
from cascade_rl_trainer.verl.stage_run import StageRun, weigh

BUDGET = LengthBudget(prompt_tokens=8, completion_tokens=4, overlong="mask")


def group(name, rewards):
    samples = [
        Rollout([1, 2], Completion(text=name, tokens=2, finish_reason="stop"), reward)
        for reward in rewards
    ]
    return Group(Prompt.from_text(name, name), [0], samples)


def scored(*scores):
    return [Reward(score=float(s), correct=bool(s)) for s in scores]


@pytest.fixture
def run(echo_pack, tmp_path):
    made = []

    def make(*overrides: str) -> StageRun:
        file = tmp_path / "c.yaml"
        file.write_text(
            "name: c\nmodel: {build: {}}\n"
            "stages: [{name: rl, domain: echo, steps: 3, batch_size: 4}]\n"
        )
        registry = Registry()
        cascade = trace(*load_config(file, list(overrides)), registry).cascade()
        prompts = registry.open("echo").load_prompts("train")
        job = Job(cascade=cascade, folder=str(tmp_path), stage=0)
        made.append(StageRun(job, prompts, registry))
        return made[-1]

    yield make
    for stage in made:
        stage.close()


UPDATE = {"grad_norm": 1.0, "entropy": 0.5, "lr": 2e-6, "lost": 0, "sampling_seconds": 0.1}


def step(stage, number, rewards=(1, 0, 1, 0)):
    groups = [group(r.prompt.id, scored(*rewards)) for r in stage.draw(number, 4)]
    stage.finish_groups(groups)
    weighed = stage.weigh(number, groups)
    stage.finish_step(number, groups, weighed, UPDATE)
    return weighed


def test_masked_and_unscored_samples_are_outside_the_statistics_and_the_update():
    masked = Reward(score=5.0, correct=False, truncated=True)
    unscored = Reward.unscored("timeout", "late")
    weighed = weigh([group("a", [*scored(1, 0), masked, unscored])], BUDGET, False)
    assert [v.take_part for v in weighed.verdicts] == [True, True, False, False]
    # mean 0.5, sample deviation sqrt(0.5) of the two that count
    expected = 0.5 / (0.5**0.5 + 1e-6)
    assert weighed.advantages == pytest.approx([expected, -expected, 0, 0])
    assert weighed.trains


@pytest.mark.parametrize("rewards", [scored(1, 1, 1), [Reward.unscored("error", "x")] * 3, []])
def test_a_batch_without_differences_trains_nothing(rewards):
    assert not weigh([group("a", rewards)], BUDGET, False).trains


def test_requests_carry_the_schedule_the_modes_and_the_seeds(run):
    stage = run(
        "stages.rl.schedule={temperature: [{step: 1, value: 0.5}], "
        "completion_tokens: [{step: 2, value: 5}]}",
        "stages.rl.modes={think: 1, no_think: 1}",
        "seed=9",
    )
    seen = []
    for number in range(3):
        requests = stage.draw(number, 4)
        assert Counter(r.prompt.mode for r in requests) == {"think": 2, "no_think": 2}
        assert {r.seeds for r in requests} == {(9, "rl", number)}
        (limits,) = {(r.sampling.temperature, r.budget.completion_tokens) for r in requests}
        seen.append(limits)
    assert seen == [(1.0, 6), (0.5, 6), (0.5, 5)]


def test_in_batch_filtering_draws_again_at_most_max_retries_times(run):
    stage = run("stages.rl.filter={kind: in_batch, max_retries: 2}")
    asked = []

    def more(count, taken):
        asked.append((count, len(taken)))
        requests = stage.draw(0, count, taken)
        return [group(r.prompt.id, scored(1, 1)) for r in requests]

    flat = [group(r.prompt.id, scored(0, 0)) for r in stage.draw(0, 4)]
    mixed = group("echo-t0", scored(1, 0))
    assert stage.choose(0, [*flat[:3], mixed], more) == [mixed]
    assert asked == [(3, 4), (3, 7)]
    assert stage.choose(0, flat, lambda *_: []) == flat  # nothing carries signal: kept, counted


@pytest.mark.parametrize("rule", ["{kind: in_batch, max_retries: 2}", "{kind: epoch}"])
@pytest.mark.parametrize("overlong", ["mask", "keep"])
def test_both_backends_draw_keep_and_drop_the_same_prompts(run, rule, overlong):
    """Seven steps over 20 prompts, on rewards that follow from the prompt's name."""
    stage = run(f"stages.rl.filter={rule}", f"stages.rl.budget.overlong={overlong}")
    kinds = [
        scored(1, 1, 1),
        scored(0, 0, 0),
        scored(1, 0, 1),
        [*scored(1, 1), Reward(score=0.0, correct=False, truncated=True)],
        [*scored(1, 1), Reward.unscored("timeout", "late")],
    ]

    def sampled(prompts):
        return [group(p.id, kinds[crc32(p.id.encode()) % 5]) for p in prompts]

    local = GrpoStage.__new__(GrpoStage)
    local._config = stage.config
    prompts = Registry().open("echo").load_prompts("train")
    local._feed = PromptFeed(prompts, stage.config.filter, 0, "rl")

    def collect(step, count, budget, sampling, taken):
        groups = sampled(local._feed.draw(count, taken))
        for found in groups:
            local._feed.record(found.prompt.id, found.rewards)
        return groups

    def verl(step, count, taken=frozenset()):
        groups = sampled([r.prompt for r in stage.draw(step, count, taken)])
        stage.finish_groups(groups)
        return groups

    local._collect, drawn_again = collect, []
    for number in range(7):
        ours = stage.choose(number, verl(number, 4), partial(verl, number))
        theirs, tries = local._batch(number, *stage.limits(number))[0], stage._resampled
        assert [g.prompt.id for g in ours] == [g.prompt.id for g in theirs]
        assert stage._feed.state() == local._feed.state()
        drawn_again.append(tries)
    assert max(drawn_again) == (2 if "in_batch" in rule else 0)


def test_the_epoch_filter_leaves_fewer_prompts(run):
    stage = run("stages.rl.filter={kind: epoch, return_hard: 0, return_easy: 0}")
    first = {r.prompt.id for _ in range(5) for r in stage.draw(0, 4)}
    assert len(first) == 20
    stage.finish_groups([group(name, scored(0, 0)) for name in sorted(first)[:18]])
    stage.finish_groups([group(name, scored(1, 0)) for name in sorted(first)[18:]])
    assert {r.prompt.id for r in stage.draw(1, 4)} == set(sorted(first)[18:])


def test_the_last_step_ends_the_stage_and_everything_is_logged(run, tmp_path):
    stage = run()
    for number in range(3):
        step(stage, number)
        assert stage.ended == ("all steps" if number == 2 else None)
    stage.end(3)
    metrics = [json.loads(x) for x in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [m["step"] for m in metrics] == [1, 2, 3]
    assert metrics[0] | UPDATE == metrics[0]
    assert (metrics[0]["reward"], metrics[0]["trained_samples"]) == (0.5, 16)
    assert (metrics[0]["trained_tokens"], metrics[0]["zero_variance"]) == (32, 0.0)
    assert len((tmp_path / "rollouts.jsonl").read_text().splitlines()) == 3 * 16


def test_a_resumed_stage_goes_on_as_an_uninterrupted_one(run, tmp_path):
    whole = run("stages.rl.filter={kind: epoch}")
    for number in range(3):
        step(whole, number, rewards=(number, 1, 0, 0))
    expected = [r.prompt.id for r in whole.draw(3, 4)]
    log = (tmp_path / "rollouts.jsonl").read_text()

    stage = run("stages.rl.filter={kind: epoch}")
    stage.resume(None)
    step(stage, 0, rewards=(0, 1, 0, 0))
    state = json.loads(json.dumps(stage.state()))
    step(stage, 1, rewards=(9, 9, 9, 9))  # lost with the kill
    again = run("stages.rl.filter={kind: epoch}")
    again.resume(state)
    for number in (1, 2):
        step(again, number, rewards=(number, 1, 0, 0))
    assert [r.prompt.id for r in again.draw(3, 4)] == expected
    assert (tmp_path / "rollouts.jsonl").read_text() == log


def test_a_stage_that_trained_on_nothing_is_an_error(run):
    stage = run()
    for number in range(3):
        assert not step(stage, number, rewards=(1, 1, 1, 1)).trains
    with pytest.raises(RunError, match=r"stage 'rl' trained on nothing: in all 3 steps"):
        stage.end(3)


def test_too_many_unscored_samples_stop_the_stage(run):
    stage = run("stages.rl.batch_size=8")
    groups = [
        group(r.prompt.id, [Reward.unscored("error", "no such luck")] * 4) for r in stage.draw(0, 8)
    ]
    with pytest.raises(
        RunError, match=r"32 of the last 32 samples.*32 error.*no such luck"
    ) as verl:
        stage.finish_step(0, groups, stage.weigh(0, groups), UPDATE)
    with pytest.raises(RunError) as local:
        Watch(stage.config).step(groups, trained=False)
    assert str(local.value) == str(verl.value)


def test_a_stage_ends_early_when_truncation_is_low(run):
    stage = run("stages.rl.advance={truncation_below: 0.5, window: 2}")
    step(stage, 0)
    assert stage.ended is None
    step(stage, 1)
    assert stage.ended == "truncation low enough"
