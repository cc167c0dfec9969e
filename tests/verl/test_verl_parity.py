"""One batch through the local backend's loss and through verl's: advantages and gradients."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from cascade_rl.config.schema import BuildConfig, ModelConfig
from cascade_rl.types import Completion, LengthBudget, Prompt, Reward
from cascade_rl_trainer.local.rollout import Group, Rollout
from cascade_rl_trainer.local.update import TrainRow, policy_update
from cascade_rl_trainer.model.load import load_policy
from cascade_rl_trainer.verl.stage_run import weigh

TEMPERATURE = 0.7
SCORES = [
    [1.0, 0.0, 0.0, 1.0],
    [-11.5, 3.25, 0.5, 3.25],  # unbounded, as a reward model's
    [0.1, 0.1, 0.1, 0.1],  # no signal
    [0.0, 1.0, 0.5, None],  # one unscored
    [1.0, 0.0, 1.0, "cut"],  # one truncated
    [1.0, None, "cut", None],  # a single one left
]


def reward(score):
    if score is None:
        return Reward.unscored("timeout", "late")
    if score == "cut":
        return Reward(score=7.0, correct=False, truncated=True)
    return Reward(score=score, correct=score > 0.6)


@pytest.fixture(scope="module")
def batch():
    """Groups of completions of different lengths; token ids below 100."""
    generator = torch.Generator().manual_seed(5)

    def ids(low, high):
        length = int(torch.randint(low, high, (1,), generator=generator))
        return torch.randint(3, 100, (length,), generator=generator).tolist()

    groups = []
    for number, scores in enumerate(SCORES):
        samples = []
        for score in scores:
            token_ids = ids(2, 9)
            completion = Completion(text="x", tokens=len(token_ids))
            samples.append(Rollout(token_ids, completion, reward(score)))
        groups.append(Group(Prompt.from_text(f"p{number}", "x"), ids(3, 8), samples))
    return groups


@pytest.fixture
def policy(tmp_path):
    build = BuildConfig(hidden_size=16, intermediate_size=24, heads=4, kv_heads=2, context=64)
    policy = load_policy(ModelConfig(build=build), seed=0, cache_dir=tmp_path)
    with torch.no_grad():
        for name, parameter in policy.model.named_parameters():
            if "norm" not in name:
                parameter.mul_(8.0)
    return policy


def weighed_as(batch, overlong, masked_in_group=False):
    budget = LengthBudget(prompt_tokens=9, completion_tokens=9, overlong=overlong)
    return weigh(copy.deepcopy(batch), budget, masked_in_group)


@pytest.mark.parametrize("overlong", ["mask", "zero", "keep"])
def test_advantages_equal_verls_on_the_samples_that_take_part(batch, overlong):
    """verl's GRPO knows no masks: it is asked about the samples that count, and only those."""
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    verdicts, advantages = weighed_as(batch, overlong)
    place, compared = 0, 0
    for group in batch:
        rows = range(place, place + len(group.samples))
        place += len(group.samples)
        part = [row for row in rows if verdicts[row].take_part]
        assert all(advantages[row] == 0 for row in rows if row not in part)
        scores = torch.tensor([verdicts[row].score for row in part], dtype=torch.float64)
        ours = torch.tensor([advantages[row] for row in part], dtype=torch.float64)
        if len(part) < 2 or len(set(scores.tolist())) == 1:
            assert ours.tolist() == [0.0] * len(part)  # exactly; verl's is not, see below
            continue
        theirs, _ = compute_grpo_outcome_advantage(
            scores[:, None], torch.ones(len(part), 1), np.array(["g"] * len(part), dtype=object)
        )
        assert (ours - theirs[:, 0]).abs().max() <= 1e-6
        compared += 1
    assert compared == {"mask": 4, "zero": 5, "keep": 5}[overlong]


def verls_advantages(*scores):
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    rows = torch.tensor(scores)[:, None]
    found, _ = compute_grpo_outcome_advantage(
        rows, torch.ones_like(rows), np.array(["g"] * len(scores), dtype=object)
    )
    return found[:, 0].tolist()


def our_advantages(*scores):
    samples = [Rollout([1], Completion(text=""), reward(score)) for score in scores]
    budget = LengthBudget(prompt_tokens=9, completion_tokens=9)
    return weigh([Group(Prompt.from_text("p", "x"), [1], samples)], budget, False).advantages


def test_where_ours_differs_from_verls_on_purpose():
    """No differences, no gradient: verl divides rounding by 1e-6, and keeps a lone raw score."""
    assert verls_advantages(7.0) == pytest.approx([7.0], rel=1e-5)
    assert our_advantages(7.0) == [0.0]
    assert max(map(abs, verls_advantages(*[-11.3] * 8))) > 0.4
    assert our_advantages(*[-11.3] * 8) == [0.0] * 8


class Recorder:
    """In an optimizer's place: keeps the gradient, moves nothing."""

    def __init__(self, policy):
        self._policy, self.param_groups = policy, [{}]

    def zero_grad(self, set_to_none=True):
        self._policy.model.zero_grad(set_to_none)

    def step(self):
        self.gradient = gradient_of(self._policy)


def local_gradient(policy, batch, weighed, micro_batch=64):
    """The gradient of the local backend's own update."""
    recorder = Recorder(policy)
    policy_update(
        policy,
        recorder,
        [TrainRow(g.prompt_ids, s.token_ids) for g in batch for s in g.samples],
        weighed.advantages,
        [v.take_part for v in weighed.verdicts],
        temperature=TEMPERATURE,
        lr=0.0,
        micro_batch=micro_batch,
        max_grad_norm=1e9,
        where="here",
    )
    return recorder.gradient


def verl_gradient(policy, batch, weighed, micro_batch=64):
    """verl's own loss on verl's own form of the batch, after our masks and advantages."""
    from tensordict import TensorDict
    from verl.utils import tensordict_utils as tu
    from verl.workers.config import FSDPActorConfig
    from verl.workers.utils.losses import ppo_loss

    from cascade_rl_trainer.verl.queue import RowWeight, weighted_columns

    samples = [
        (torch.tensor(g.prompt_ids), torch.tensor(s.token_ids)) for g in batch for s in g.samples
    ]
    ones = [torch.ones_like(response) for _, response in samples]
    given = {"response_mask": ones, "loss_mask": ones, "rm_scores": [o.float() for o in ones]}
    weights = [
        RowWeight(v.take_part, a, v.score)
        for v, a in zip(weighed.verdicts, weighed.advantages, strict=True)
    ]
    columns = {name: c.unbind() for name, c in weighted_columns(given, weights).items()}
    divisor = int(sum(row.sum() for row in columns["loss_mask"]))  # once, as verl's engine counts
    config = FSDPActorConfig(
        strategy="fsdp2",
        rollout_n=4,
        ppo_micro_batch_size_per_gpu=micro_batch,
        loss_agg_mode="token-mean",
    )
    policy.model.zero_grad()
    for first in range(0, len(samples), micro_batch):
        places = range(first, min(first + micro_batch, len(samples)))
        whole = [whole_logprobs(policy, *samples[place]) for place in places]
        old = [w.detach()[len(samples[p][0]) - 1 : -1] for w, p in zip(whole, places, strict=True)]
        part = {
            **{name: nested([rows[place] for place in places]) for name, rows in columns.items()},
            "prompts": nested([samples[place][0] for place in places]),
            "responses": nested([samples[place][1] for place in places]),
            "old_log_probs": nested(old),
        }
        data = TensorDict(part, batch_size=len(places))
        tu.assign_non_tensor(
            data, dp_size=1, batch_num_tokens=divisor, global_batch_size=len(samples)
        )
        loss, _ = ppo_loss(config, {"log_probs": nested(whole)}, data)
        assert torch.isfinite(loss)
        loss.backward()
    return gradient_of(policy)


def whole_logprobs(policy, prompt, response):
    """Log-probability of each next token of prompt + response, in verl's layout: the last is 0."""
    ids = torch.cat([prompt, response])[None]
    logits = policy.model(input_ids=ids).logits[0].float() / TEMPERATURE
    found = logits[:-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
    return torch.cat([found, torch.zeros(1)])


def nested(rows):
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


def gradient_of(policy):
    found = [p.grad.flatten() for p in policy.model.parameters() if p.grad is not None]
    return torch.cat(found).clone()


def difference(one, other):
    return float((one - other).norm() / one.norm())


@pytest.mark.parametrize("overlong", ["mask", "zero", "keep"])
def test_the_gradient_of_verls_loss_equals_the_local_one(policy, batch, overlong):
    """At ratio 1 verl's loss is the mean of -advantage, ours of -advantage * log-probability:
    the values differ, the gradients are the same, however each splits the batch."""
    weighed = weighed_as(batch, overlong)
    local = local_gradient(policy, batch, weighed)
    assert local.norm() > 1e-3
    for size in (1, 3, 7, 24):
        assert difference(local, verl_gradient(policy, batch, weighed, size)) <= 1e-4
        assert difference(local, local_gradient(policy, batch, weighed, size)) <= 1e-5


def test_masked_samples_may_count_in_the_group_and_still_not_in_the_loss(policy, batch):
    weighed = weighed_as(batch, "mask", masked_in_group=True)
    assert weighed.advantages != weighed_as(batch, "mask").advantages
    local = local_gradient(policy, batch, weighed)
    assert difference(local, verl_gradient(policy, batch, weighed, 7)) <= 1e-4


def test_without_our_masks_the_gradient_would_be_another(policy, batch):
    weighed = weighed_as(batch, "mask")
    all_take_part = [v.__class__(True, v.score, v.correct) for v in weighed.verdicts]
    other = verl_gradient(policy, batch, weighed._replace(verdicts=all_take_part))
    assert difference(local_gradient(policy, batch, weighed), other) > 0.05


def test_one_mask_alone_would_leave_verls_divisor_as_it_was(policy, batch, monkeypatch):
    """verl's loss multiplies by one mask and divides by the sum of the other."""
    from cascade_rl_trainer.verl import queue

    weighed, both = weighed_as(batch, "mask"), queue.weighted_columns
    monkeypatch.setattr(
        queue,
        "weighted_columns",
        lambda given, weights: both(given, weights) | {"loss_mask": nested(given["loss_mask"])},
    )
    tokens = [s.completion.tokens for g in batch for s in g.samples]
    counted = sum(n for n, v in zip(tokens, weighed.verdicts, strict=True) if v.take_part)
    scaled = verl_gradient(policy, batch, weighed) * sum(tokens) / counted
    assert sum(tokens) > counted
    assert difference(local_gradient(policy, batch, weighed), scaled) <= 1e-4
