"""One batch through the local backend's loss and through verl's: advantages and gradients."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from cascade_rl.config.schema import BuildConfig, ModelConfig
from cascade_rl.types import Completion, LengthBudget, Prompt, Reward
from cascade_rl_trainer.algorithm.loss import policy_gradient_loss
from cascade_rl_trainer.local.forward import TrainRow, completion_logprobs
from cascade_rl_trainer.local.rollout import Group, Rollout
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


@pytest.mark.parametrize("overlong", ["mask", "zero", "keep"])
def test_advantages_equal_verls_on_the_samples_that_take_part(batch, overlong):
    """verl's GRPO knows no masks: it is asked about the samples that count, and only those."""
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    budget = LengthBudget(prompt_tokens=9, completion_tokens=9, overlong=overlong)
    verdicts, advantages = weigh(copy.deepcopy(batch), budget, False)
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


def test_where_ours_differs_from_verls_on_purpose():
    """A lone sample trains on nothing here; verl gives it its raw score as its advantage."""
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    theirs, _ = compute_grpo_outcome_advantage(
        torch.tensor([[7.0]]), torch.ones(1, 1), np.array(["g"], dtype=object)
    )
    assert theirs.item() == pytest.approx(7.0, rel=1e-5)
    group = Group(Prompt.from_text("p", "x"), [1], [Rollout([1], Completion(text=""), reward(7.0))])
    budget = LengthBudget(prompt_tokens=9, completion_tokens=9)
    assert weigh([group], budget, False).advantages == [0.0]


def local_gradient(policy, batch, weighed):
    rows = [TrainRow(g.prompt_ids, s.token_ids) for g in batch for s in g.samples]
    part = torch.tensor([v.take_part for v in weighed.verdicts])
    divisor = sum(len(r.completion_ids) for r, p in zip(rows, part.tolist(), strict=True) if p)
    logprobs, mask = completion_logprobs(policy.model, rows, TEMPERATURE, policy.pad_id)
    advantages = torch.tensor(weighed.advantages)
    loss = policy_gradient_loss(logprobs, advantages, mask & part[:, None], divisor)
    return loss, gradient_of(policy, loss)


def verl_gradient(policy, batch, weighed):
    """verl's own loss on verl's own form of the batch, after our masks and advantages."""
    from tensordict import TensorDict
    from verl.utils import tensordict_utils as tu
    from verl.workers.config import FSDPActorConfig
    from verl.workers.utils.losses import ppo_loss

    from cascade_rl_trainer.verl.queue import RowWeight, weighted_columns

    samples = [(g.prompt_ids, s.token_ids) for g in batch for s in g.samples]
    prompts = [torch.tensor(p) for p, _ in samples]
    responses = [torch.tensor(r) for _, r in samples]
    ones = [torch.ones_like(r) for r in responses]
    given = {"response_mask": ones, "loss_mask": ones, "rm_scores": [o.float() for o in ones]}
    weights = [
        RowWeight(v.take_part, a, v.score)
        for v, a in zip(weighed.verdicts, weighed.advantages, strict=True)
    ]
    columns = weighted_columns(given, weights)
    whole = [whole_logprobs(policy, p, r) for p, r in zip(prompts, responses, strict=True)]
    old = [w.detach()[len(p) - 1 : -1] for w, p in zip(whole, prompts, strict=True)]
    data = TensorDict(
        {
            **columns,
            "prompts": nested(prompts),
            "responses": nested(responses),
            "old_log_probs": nested(old),
        },
        batch_size=len(samples),
    )
    tu.assign_non_tensor(
        data,
        dp_size=1,
        batch_num_tokens=int(columns["loss_mask"].values().sum()),  # as verl's engine counts
        global_batch_size=len(samples),
    )
    config = FSDPActorConfig(
        strategy="fsdp2",
        rollout_n=4,
        ppo_micro_batch_size_per_gpu=4,
        loss_agg_mode="token-mean",
    )
    loss, _ = ppo_loss(config, {"log_probs": nested(whole)}, data)
    return loss, gradient_of(policy, loss)


def whole_logprobs(policy, prompt, response):
    """Log-probability of each next token of prompt + response, in verl's layout: the last is 0."""
    ids = torch.cat([prompt, response])[None]
    logits = policy.model(input_ids=ids).logits[0].float() / TEMPERATURE
    found = logits[:-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
    return torch.cat([found, torch.zeros(1)])


def nested(rows):
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


def gradient_of(policy, loss):
    policy.model.zero_grad()
    loss.backward()
    return torch.cat([p.grad.flatten() for p in policy.model.parameters() if p.grad is not None])


@pytest.mark.parametrize("overlong", ["mask", "zero", "keep"])
def test_the_gradient_of_verls_loss_equals_the_local_one(policy, batch, overlong):
    budget = LengthBudget(prompt_tokens=9, completion_tokens=9, overlong=overlong)
    weighed = weigh(copy.deepcopy(batch), budget, False)
    ours, local = local_gradient(policy, batch, weighed)
    theirs, verl = verl_gradient(policy, batch, weighed)
    # At ratio 1 verl's loss is the mean of -advantage, ours of -advantage * log-probability:
    # the values differ, the gradients are the same.
    assert torch.isfinite(ours)
    assert torch.isfinite(theirs)
    relative = float((local - verl).norm() / local.norm())
    print(f"overlong {overlong}: relative difference of the gradients {relative:.2e}")
    assert local.norm() > 1e-3
    assert relative <= 1e-4


def test_without_our_masks_the_gradient_would_be_another(policy, batch):
    budget = LengthBudget(prompt_tokens=9, completion_tokens=9, overlong="mask")
    weighed = weigh(copy.deepcopy(batch), budget, False)
    _, local = local_gradient(policy, batch, weighed)
    all_take_part = [v.__class__(True, v.score, v.correct) for v in weighed.verdicts]
    _, other = verl_gradient(policy, batch, weighed._replace(verdicts=all_take_part))
    assert float((local - other).norm() / local.norm()) > 0.05
