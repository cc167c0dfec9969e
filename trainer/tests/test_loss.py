"""Token-level losses against numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch

from cascade_rl_trainer.algorithm.loss import policy_gradient_loss, sft_loss


def rows_of(lengths, value=-1.0):
    width = max(lengths)
    mask = torch.arange(width)[None] < torch.tensor(lengths)[:, None]
    return torch.full(mask.shape, value, dtype=torch.float64), mask


def test_every_token_weighs_the_same():
    # row 1: 2 tokens of advantage 1, row 2: 4 tokens of advantage -0.5; log p = -1 everywhere
    logprobs, mask = rows_of([2, 4])
    loss = policy_gradient_loss(logprobs, torch.tensor([1.0, -0.5]), mask, divisor=6)
    assert loss.item() == pytest.approx((2 * 1.0 + 4 * -0.5) / 6)


def test_masked_completions_are_outside_the_divisor():
    # lengths 4 and 6, the longer one truncated and masked, loss 1 a token: 4 / 4, not 4 / 10
    logprobs, mask = rows_of([4, 6])
    loss = policy_gradient_loss(logprobs, torch.tensor([1.0, 0.0]), mask, divisor=4)
    assert loss.item() == pytest.approx(1.0)


def test_all_masked_is_zero_and_not_a_division_by_zero():
    logprobs, mask = rows_of([4, 6])
    logprobs.requires_grad_()
    loss = policy_gradient_loss(logprobs, torch.zeros(2), torch.zeros_like(mask), divisor=0)
    loss.backward()
    assert loss.item() == 0
    assert logprobs.grad.abs().max() == 0


def test_padding_may_hold_anything():
    logprobs, mask = rows_of([1, 2])
    logprobs = logprobs.masked_fill(~mask, -torch.inf)
    assert policy_gradient_loss(logprobs, torch.ones(2), mask, 3).item() == pytest.approx(1.0)


def test_micro_batches_add_up_to_the_batch():
    generator = torch.Generator().manual_seed(0)
    logprobs = torch.randn(6, 5, generator=generator, dtype=torch.float64)
    weights = torch.randn(6, generator=generator, dtype=torch.float64)
    mask = torch.rand(6, 5, generator=generator) < 0.7
    whole = policy_gradient_loss(logprobs, weights, mask, 21)
    parts = [policy_gradient_loss(logprobs[i:j], weights[i:j], mask[i:j], 21) for i, j in
             ((0, 1), (1, 4), (4, 6))]  # fmt: skip
    assert sum(p.item() for p in parts) == pytest.approx(whole.item(), abs=1e-12)


def test_gradient_is_minus_advantage_over_the_divisor():
    logprobs, mask = rows_of([1, 3])
    logprobs.requires_grad_()
    policy_gradient_loss(logprobs, torch.tensor([2.0, -1.0]), mask, divisor=4).backward()
    assert logprobs.grad.tolist() == [[-0.5, 0, 0], [0.25, 0.25, 0.25]]


def test_sft_is_the_mean_over_completion_tokens():
    logprobs = torch.tensor([[-1.0, -2.0, -99.0], [-3.0, -4.0, -5.0]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    assert sft_loss(logprobs, mask, 5).item() == pytest.approx(15 / 5)


def test_a_negative_divisor_is_refused():
    with pytest.raises(ValueError, match="number of tokens, got -1"):
        sft_loss(torch.zeros(1, 1), torch.ones(1, 1, dtype=torch.bool), -1)
