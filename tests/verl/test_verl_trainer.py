"""Our overrides of verl's trainer on one batch, in process: hooks, masks, and draws with a bound.

A dictionary stands for verl's TransferQueue; nothing of verl is started.
"""

from __future__ import annotations

import sys
from math import exp, nan
from types import SimpleNamespace

import pytest
import torch

from cascade_rl.config import load_config, trace
from cascade_rl.registry import Registry
from cascade_rl.testing import write_pack
from cascade_rl.types import Reward
from cascade_rl_trainer.algorithm.advantages import group_advantages
from cascade_rl_trainer.verl.job import Job
from cascade_rl_trainer.verl.stage_run import StageRun
from cascade_rl_trainer.verl.wire import COLUMN, to_wire

PACK = '''
"""The paper's two hooks beyond one sample: the thinking models' IF reward, RLHF's penalty."""
from math import exp
from statistics import fmean, stdev
from cascade_rl import LengthBudget, Prompt, Reward, SamplingParams, hookimpl

@hookimpl
def load_prompts(): return [Prompt.from_text(f"p{i}", f"p{i}") for i in range(12)]

@hookimpl
def reward(): return Reward.verdict(True)

@hookimpl
def reward_group(rewards):
    """R_IF + sigmoid(z of the reward model's score in the group) where R_IF = 1, else 0."""
    scored = [r for r in rewards if r.score is not None]
    models = [r.components["rm"] for r in scored]
    spread = (stdev(models) if len(models) > 1 else 0.0) or 1.0
    z = {id(r): (r.components["rm"] - fmean(models)) / spread for r in scored}
    return [
        r.model_copy(update={"score": r.score + 1 / (1 + exp(-z[id(r)]))}) if r.score else r
        for r in rewards
    ]

@hookimpl
def shape_rewards(batch):
    """A completion in two languages gets the batch's lowest reward - 10."""
    lowest = min((s.reward.score for s in batch if s.reward.score is not None), default=0)
    return [
        s.reward.model_copy(update={"score": lowest - 10})
        if s.reward.score is not None and 9 in map(int, s.completion.text.split()) else s.reward
        for s in batch
    ]

@hookimpl
def length_budget(): return LengthBudget(prompt_tokens=8, completion_tokens=4, overlong="mask")

@hookimpl
def sampling_params(): return SamplingParams(n=4)
'''


class Queue(dict):
    """verl's TransferQueue, as far as ``verl.queue`` uses it: a dictionary of rows."""

    def kv_batch_get(self, keys, partition_id, select_fields):
        columns = {name: [self[key][name] for key in keys] for name in select_fields}
        tensors = ("prompts", "responses", "response_mask", "loss_mask", "rm_scores")
        return {n: nested(c) if n in tensors else c for n, c in columns.items()}

    def kv_batch_put(self, keys, partition_id, fields):
        for name in fields.keys():  # noqa: SIM118 - a TensorDict's
            for key, row in zip(keys, fields[name].unbind(), strict=True):
                self[key][name] = row

    def kv_clear(self, keys, partition_id):
        for key in keys:
            del self[key]


def nested(rows):
    return torch.nested.as_nested_tensor(list(rows), layout=torch.jagged)


def judged(right, model=0.0, reason="", truncated=False):
    """A verdict as a reward worker sends it; ``right`` None is an unscored sample."""
    if right is None:
        return Reward.unscored("timeout", "late")
    found = Reward.verdict(bool(right), reason=reason, truncated=truncated)
    return found.model_copy(update={"components": {"rm": model}})


class Engine:
    """The rollout engine, the reward workers and the replay buffer of verl.

    Every completion has three tokens, and the verdict that ``verdicts`` has for its prompt.
    """

    def __init__(self, rows):
        self.rows, self.asked, self.verdicts = rows, [], {}
        self.otherwise = [judged(1)] * 4

    def submit(self, requests):
        self.asked.append([r.prompt.id for r in requests])
        for request in requests:
            for number, given in enumerate(self.verdicts.get(request.prompt.id, self.otherwise)):
                wire, ones = to_wire(given), torch.ones(3, dtype=torch.long)
                self.rows[f"{request.prompt.id}_{number}_0"] = {
                    COLUMN: request.encode(),
                    "prompts": torch.tensor([7]),
                    "responses": torch.tensor([5, 9 if given.reason == "two languages" else 6, 2]),
                    "extra_fields": {"reward_extra_info": wire["reward_extra_info"]},
                    "response_mask": ones,
                    "loss_mask": ones,
                    "rm_scores": torch.tensor([0.0, 0.0, wire["reward_score"]]),
                }

    def sample(self, global_steps, partition_id, batch_size):
        from transfer_queue import KVBatchMeta

        keys = [k for k in self.rows if k.split("_")[0] in self.asked[-1]]
        return KVBatchMeta(keys=keys, tags=[{} for _ in keys], partition_id=partition_id), {}


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    """``trainer(override…)``: ours, with nothing of verl's behind it, on the pack above."""
    from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

    from cascade_rl_trainer.verl import queue
    from cascade_rl_trainer.verl.trainer import CascadeTrainer, Groups

    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    module = write_pack(site, "graded", PACK, distribution="fake-graded")
    (tmp_path / "c.yaml").write_text(
        "name: c\nmodel: {build: {}}\n"
        "stages: [{name: rl, domain: graded, steps: 3, batch_size: 3}]\n"
    )
    rows, stages = Queue(), []
    monkeypatch.setattr(queue, "tq", rows)

    def make(*overrides):
        registry = Registry()
        cascade = trace(*load_config(tmp_path / "c.yaml", list(overrides)), registry).cascade()
        job = Job(cascade=cascade, folder=str(tmp_path), stage=0)
        stages.append(StageRun(job, registry.open("graded").load_prompts("train"), registry))
        ours, engine = CascadeTrainer.__new__(CascadeTrainer), Engine(rows)
        ours.engine, ours._stage, ours.global_steps, ours._order = engine, stages[-1], 1, {}
        ours._template = SimpleNamespace(decode=lambda ids: " ".join(map(str, ids)), stop_ids=(2,))
        ours.replay_buffer = Groups(engine, ours)
        ours._submit_batch_to_rollout = engine.submit

        def rows_of(requests):
            ours._order |= {r.prompt.id: len(ours._order) + i for i, r in enumerate(requests)}
            return requests

        ours._rows, ours.updates = rows_of, []
        monkeypatch.setattr(PPOTrainerSync, "_compute_advantage", lambda _, batch, _m: batch)
        monkeypatch.setattr(
            PPOTrainerSync, "_update_actor", lambda _, batch, _m: ours.updates.append(batch)
        )
        return ours

    yield make
    for stage in stages:
        stage.close()
    sys.modules.pop(module, None)


def step(trainer, *verdicts):
    """A step as verl makes it, up to the update; ``verdicts``: of the first draw's groups.

    Returns the batch that the update sees, one row of verl's padding at its end.
    """
    requests = trainer._stage.draw(0, 3)
    given = zip((r.prompt.id for r in requests), verdicts, strict=True)
    trainer.engine.verdicts |= dict(given)
    trainer.engine.submit(trainer._rows(requests))
    batch, _ = trainer.replay_buffer.sample(1, "train", len(requests))
    zeros = torch.zeros(3, dtype=torch.long)
    trainer.engine.rows["pad_0_0"] = {
        "response_mask": zeros,
        "loss_mask": zeros,
        "rm_scores": zeros.float(),
    }
    batch = type(batch)(
        keys=[*batch.keys, "pad_0_0"],
        tags=[*batch.tags, {"is_padding": True}],
        partition_id="train",
    )
    batch = trainer._compute_advantage(batch, {})
    trainer._update_actor(batch, {})
    return batch


MIXED = [judged(1), judged(0), judged(1), judged(0)]


def test_both_hooks_reach_the_advantages_and_masked_samples_leave_both_masks(trainer):
    ours = trainer()
    batch = step(
        ours,
        [judged(1, 2.0), judged(1, 0.0), judged(0, 1.0), judged(None)],
        [
            judged(1, 4.0),
            judged(0, 2.0, "two languages"),
            judged(0, 0.0),
            judged(1, truncated=True),
        ],
        [judged(0), judged(0), judged(0), judged(0)],
    )
    # By hand: 1 + sigmoid(1) and 1 + sigmoid(-1); the second group's z of 4, 2, 0, 0 is
    # 2.5 / sqrt(11/3), and its second sample gets the batch's lowest, 0, less 10.
    expected = [1.7310586, 1.2689414, 0.0, nan]
    expected += [1.0 + 1 / (1 + exp(-2.5 / (11 / 3) ** 0.5)), -10.0, 0.0, nan]
    part = [True, True, True, False, True, True, True, False, *[True] * 4, False]
    advantages = group_advantages(
        torch.tensor([*expected, 0.0, 0.0, 0.0, 0.0], dtype=torch.float64),
        [0] * 4 + [1] * 4 + [2] * 4,
        part[:12],
    ).tolist()
    assert advantages[0] > advantages[1] > 0 > advantages[2]
    assert advantages[5] < advantages[6] < advantages[4]
    for key, taken, advantage in zip(batch.keys, part, [*advantages, 0.0], strict=True):
        row = ours.engine.rows[key]
        assert row["response_mask"].tolist() == row["loss_mask"].tolist() == [int(taken)] * 3
        assert row["advantages"].tolist() == pytest.approx([advantage * taken] * 3, abs=1e-6)
        assert row["returns"].tolist() == row["advantages"].tolist()
    scores = [ours.engine.rows[key]["rm_scores"][-1].item() for key in batch.keys[:3]]
    assert scores == pytest.approx(expected[:3])
    unscored = [bool(tag.get("is_padding")) for tag in batch.tags]
    assert unscored == [i in (3, 12) for i in range(13)]  # else NaN spreads in verl's own figures
    assert len(ours.updates) == 1


def test_in_batch_filtering_draws_again_at_most_max_retries_times(trainer):
    """The prompts' own group has no signal, nor has any that is drawn after it."""
    ours = trainer("stages.rl.filter={kind: in_batch, max_retries: 2}")
    flat = [judged(1)] * 4
    batch = step(ours, flat, MIXED, flat)
    first, second, third = ours.engine.asked
    assert [len(first), len(second), len(third)] == [3, 2, 2]
    assert len({*first, *second, *third}) == 7  # no prompt twice in a batch
    assert batch.keys == [*(f"{first[1]}_{k}_0" for k in range(4)), "pad_0_0"]
    assert set(ours.engine.rows) == set(batch.keys)  # what is not trained on is forgotten


def test_a_draw_that_has_signal_fills_the_batch_and_ends_the_drawing(trainer):
    ours = trainer("stages.rl.filter={kind: in_batch, max_retries: 9}")
    ours.engine.otherwise = MIXED
    batch = step(ours, [judged(1)] * 4, MIXED, MIXED)
    assert [len(asked) for asked in ours.engine.asked] == [3, 1]
    assert len(batch.keys) == 13


@pytest.mark.parametrize("flat", [[judged(1)] * 4, [judged(None)] * 4])
def test_a_batch_without_signal_makes_no_update(trainer, flat):
    ours = trainer()
    step(ours, flat, flat, flat)
    assert ours.updates == []
