"""From logits to tokens: temperature, top-k, top-p, and one uniform number a row.

Tokens are drawn by inverting the cumulative distribution over token ids, so that equal
logits and equal numbers give equal tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from cascade_rl.types import SamplingParams


def choose(logits: Tensor, uniform: Tensor, params: SamplingParams) -> Tensor:
    """One token id a row, [rows] int64.

    ``logits`` [rows, vocabulary]; ``uniform`` [rows] in [0, 1), not used when the
    temperature is 0 (the most likely token; the lowest id among equals).
    """
    if params.temperature == 0:
        return logits.argmax(-1)
    return draw(probabilities(logits, params), uniform)


def probabilities(logits: Tensor, params: SamplingParams) -> Tensor:
    """The distribution to draw from, [rows, vocabulary], rows summing to 1 or a little less.

    As in the field: divide by the temperature, keep the ``top_k`` likeliest tokens, then
    the smallest set of them whose probability reaches ``top_p``. At least one token stays.
    """
    scaled = logits.float()
    if params.temperature != 1.0:
        scaled = scaled / params.temperature
    if 0 < params.top_k < scaled.shape[-1]:
        kth = scaled.topk(params.top_k, dim=-1).values[:, -1:]
        scaled = scaled.masked_fill(scaled < kth, -torch.inf)
    probs = scaled.softmax(-1)
    return probs if params.top_p >= 1.0 else _nucleus(probs, params.top_p)


def _nucleus(probs: Tensor, top_p: float) -> Tensor:
    ordered, index = probs.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1, dtype=torch.float64) - ordered
    return torch.zeros_like(probs).scatter(-1, index, torch.where(before < top_p, ordered, 0.0))


def draw(probs: Tensor, uniform: Tensor) -> Tensor:
    """Invert the cumulative distribution at ``uniform`` times its total."""
    cumulative = probs.cumsum(-1, dtype=torch.float64)
    target = uniform.to(cumulative.device, torch.float64).unsqueeze(-1) * cumulative[:, -1:]
    token = torch.searchsorted(cumulative, target, right=True).squeeze(-1)
    return token.clamp_(max=probs.shape[-1] - 1)
