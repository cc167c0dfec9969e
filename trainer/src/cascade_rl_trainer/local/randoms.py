"""Uniform numbers by counter: row and position alone decide a draw.

A row's numbers do not depend on the batch around it, on how many are drawn, or on the
device. Splitmix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
generators"), evaluated at any position at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def uniforms(seeds: Sequence[int], count: int) -> Tensor:
    """[rows, count] float64 numbers in [0, 1); row i comes from ``seeds[i]`` alone."""
    start = np.array([seed % 2**64 for seed in seeds], dtype=np.uint64)[:, None]
    position = np.arange(1, count + 1, dtype=np.uint64)[None, :]
    bits = _mix(start + position * _GAMMA)
    return torch.from_numpy((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _mix(z: Any) -> Any:
    # uint64 arrays wrap around, which is what the generator is defined with
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))
