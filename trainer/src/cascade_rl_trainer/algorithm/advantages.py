"""Group-normalised advantages of GRPO. Grouping is by id, never by position in the batch.

The paper (eq. 1) gives (r - mean) / std of the group and leaves open which
deviation and which epsilon; here it is the sample deviation (n - 1), plus 1e-6 outside the
root. Which samples take part is decided in ``overlong.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class GroupStatistics(NamedTuple):
    """What every sample's group looks like, each of shape [batch] (float64 and bool).

    ``flat`` is true where the counted scores of the group are all equal, or fewer than two.
    """

    mean: Tensor
    std: Tensor
    flat: Tensor


def group_advantages(
    scores: Tensor,
    groups: Sequence[int] | Tensor,
    take_part: Sequence[bool] | Tensor,
    *,
    masked_in_group: bool = False,
    known: Sequence[bool] | Tensor | None = None,
    eps: float = 1e-6,
) -> Tensor:
    """(score - group mean) / (sample standard deviation + eps), shape [batch], scores' dtype.

    ``scores`` [batch]: NaN where there is none. ``groups`` [batch]: equal ids form a group.
    ``take_part`` [batch]: false for masked and unscored samples, whose advantage is 0.
    ``known`` [batch]: which samples have a score; default: those that are not NaN. Samples
    without one never count in the statistics, masked ones only with ``masked_in_group``.

    Exactly 0 where the counted scores are all equal and where only one counts. Raises
    ``ValueError`` for infinite scores, NaN declared as known, and shapes that differ.
    """
    has_score, part = _flags(scores, known), _bools(take_part, scores)
    part = part & has_score
    counted = has_score if masked_in_group else part
    stats = group_statistics(scores, groups, counted)
    values = torch.where(has_score, scores, torch.zeros_like(scores)).double()
    advantages = (values - stats.mean) / (stats.std + eps)
    usable = part & ~stats.flat
    return torch.where(usable, advantages, torch.zeros_like(advantages)).to(scores.dtype)


def group_statistics(
    scores: Tensor, groups: Sequence[int] | Tensor, counted: Sequence[bool] | Tensor
) -> GroupStatistics:
    """Mean and sample deviation over the counted samples of each sample's group."""
    count = _bools(counted, scores)
    ids = torch.as_tensor(groups, dtype=torch.long, device=scores.device)
    if ids.shape != scores.shape:
        raise ValueError(f"{ids.numel()} group ids for {scores.numel()} scores")
    _, index = torch.unique(ids, return_inverse=True)
    size = int(index.max()) + 1 if index.numel() else 0
    zeros = torch.zeros(size, dtype=torch.float64, device=scores.device)
    values = torch.where(count, scores, torch.zeros_like(scores)).double()
    n = zeros.index_add(0, index, count.double())
    mean = zeros.index_add(0, index, values) / n.clamp(min=1)
    deviation = torch.where(count, values - mean[index], 0.0)
    variance = zeros.index_add(0, index, deviation.square()) / (n - 1).clamp(min=1)
    flat = _flat(values, index, count, size) | (n < 2)
    return GroupStatistics(mean[index], variance.sqrt()[index], flat[index])


def _flat(values: Tensor, index: Tensor, counted: Tensor, size: int) -> Tensor:
    # Not |advantage| > tolerance: equal scores of 0.1 leave float noise around their mean.
    index, values = index[counted], values[counted]
    empty = torch.zeros(size, dtype=values.dtype, device=values.device)
    low = empty.scatter_reduce(0, index, values, "amin", include_self=False)
    high = empty.scatter_reduce(0, index, values, "amax", include_self=False)
    return low == high


def _flags(scores: Tensor, known: Sequence[bool] | Tensor | None) -> Tensor:
    has_score = ~scores.isnan() if known is None else _bools(known, scores)
    wrong = has_score & ~scores.isfinite()
    if wrong.any():
        where = int(wrong.nonzero()[0])
        raise ValueError(f"score {where} is {scores[where].item()}; scores must be finite")
    return has_score


def _bools(flags: Sequence[bool] | Tensor, scores: Tensor) -> Tensor:
    tensor = torch.as_tensor(flags, dtype=torch.bool, device=scores.device)
    if tensor.shape != scores.shape or scores.dim() != 1:
        raise ValueError(f"flags of shape {tuple(tensor.shape)} for {tuple(scores.shape)} scores")
    return tensor
