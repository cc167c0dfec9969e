"""Rows of unequal length as one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def pad_left(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """(ids, mask) of shape [rows, longest], padding first; the mask is true on tokens."""
    ids, lengths, width = _measure(rows)
    filled = [[pad_id] * (width - len(row)) + row for row in ids]
    return torch.tensor(filled), torch.arange(width)[None] >= (width - lengths)[:, None]


def pad_right(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """(ids, mask) of shape [rows, longest], padding last; the mask is true on tokens."""
    ids, lengths, width = _measure(rows)
    filled = [row + [pad_id] * (width - len(row)) for row in ids]
    return torch.tensor(filled), torch.arange(width)[None] < lengths[:, None]


def _measure(rows: Sequence[Sequence[int]]) -> tuple[list[list[int]], Tensor, int]:
    lengths = torch.tensor([len(row) for row in rows])
    return [list(row) for row in rows], lengths, int(lengths.max())
