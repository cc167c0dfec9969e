"""Token-level losses. Both are sums over tokens divided by a count that the caller gives.

The divisor is the whole batch's, so that the losses of micro-batches add up to the batch's
loss whatever their size.
"""

from __future__ import annotations

import torch
from torch import Tensor


def policy_gradient_loss(
    logprobs: Tensor, advantages: Tensor, mask: Tensor, divisor: int
) -> Tensor:
    """-sum of advantage * log-probability over the completion tokens, over ``divisor``.

    The paper's eq. 1 for one update on fresh samples: the importance ratio is 1, so there is
    no clipping, and neither KL nor entropy enters. ``logprobs`` [rows, tokens] at the
    sampling temperature, ``advantages`` [rows], ``mask`` [rows, tokens] true on completion
    tokens. ``divisor``: completion tokens of all samples of the batch that take part, those
    with advantage 0 included. With a divisor of 0 (all masked) the loss is 0.
    """
    weights = advantages.to(logprobs.dtype).unsqueeze(1).expand_as(logprobs)
    return _weighted(logprobs, weights, mask, divisor)


def sft_loss(logprobs: Tensor, mask: Tensor, divisor: int) -> Tensor:
    """Mean negative log-likelihood of the batch's completion tokens; prompts do not count.

    Shapes as in ``policy_gradient_loss``; ``divisor`` is the batch's completion tokens.
    """
    return _weighted(logprobs, torch.ones_like(logprobs), mask, divisor)


def _weighted(logprobs: Tensor, weights: Tensor, mask: Tensor, divisor: int) -> Tensor:
    if divisor < 0:
        raise ValueError(f"the divisor is a number of tokens, got {divisor}")
    # where, not *: padding may hold infinities, and inf * 0 is NaN.
    terms = torch.where(mask, weights * logprobs, torch.zeros_like(logprobs))
    return -terms.sum() / max(divisor, 1)
