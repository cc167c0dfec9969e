"""From logits to tokens: temperature, top-k, top-p, and one uniform number a row.

Tokens are drawn by inverting the cumulative distribution over token ids in ascending order:
rounding then moves a boundary by a little, and never swaps two tokens of like probability.
"""

from __future__ import annotations

import torch
from torch import Tensor

from cascade_rl.types import SamplingParams

# A nucleus is nearly always among this many tokens; sorting a whole vocabulary costs as much
# as a step of a small model.
_SHORTLIST = 64


def choose(logits: Tensor, uniform: Tensor, params: SamplingParams) -> Tensor:
    """One token id a row, [rows] int64.

    ``logits`` [rows, vocabulary]; ``uniform`` [rows] in [0, 1), not used when the
    temperature is 0 (the most likely token; the lowest id among equals).
    """
    if params.temperature == 0:
        return logits.argmax(-1)
    tokens, probs = candidates(logits, params)
    place = draw(probs, uniform)
    return place if tokens is None else tokens.gather(1, place[:, None]).squeeze(1)


def candidates(logits: Tensor, params: SamplingParams) -> tuple[Tensor | None, Tensor]:
    """(token ids, their probabilities), both [rows, candidates], ids ascending.

    As in the field: divide by the temperature, keep the ``top_k`` likeliest tokens, then
    the smallest set of them whose probability reaches ``top_p``; at least one stays. Those
    left out have probability 0, and what is left is not scaled up to 1. Ids are None where
    the candidates are the whole vocabulary.
    """
    scaled = logits.float()
    if params.temperature != 1.0:
        scaled = scaled / params.temperature
    if 0 < params.top_k < scaled.shape[-1]:
        likeliest = scaled.topk(params.top_k, dim=-1)
        values, tokens = likeliest.values.softmax(-1), likeliest.indices
    elif params.top_p < 1:
        values, tokens = _shortlist(scaled.softmax(-1), params.top_p)
    else:
        return None, scaled.softmax(-1)
    before = values.cumsum(-1, dtype=torch.float64) - values
    values = values.masked_fill(before >= params.top_p, 0.0)
    tokens, order = tokens.sort(dim=-1)
    return tokens, values.gather(1, order)


def _shortlist(probs: Tensor, top_p: float) -> tuple[Tensor, Tensor]:
    """Enough of the likeliest tokens to reach ``top_p`` in every row, in descending order."""
    size = min(_SHORTLIST, probs.shape[-1])
    short = probs.topk(size, dim=-1)
    if bool((short.values.sum(-1) < top_p).any()):
        short = probs.topk(probs.shape[-1], dim=-1)
    return short.values, short.indices


def draw(probs: Tensor, uniform: Tensor) -> Tensor:
    """Places [rows] where the cumulative distribution passes ``uniform`` times its total."""
    cumulative = probs.cumsum(-1, dtype=torch.float64)
    target = uniform.to(cumulative.device, torch.float64).unsqueeze(-1) * cumulative[:, -1:]
    place = torch.searchsorted(cumulative, target, right=True).squeeze(-1)
    return place.clamp_(max=probs.shape[-1] - 1)
