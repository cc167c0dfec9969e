"""Group-normalised advantages in plain Python, for the rollouts that a trainer has stored.

The same numbers as the trainer's (eq. 1 of the paper; sample deviation, n - 1; plus 1e-6;
exactly 0 where all counted scores are equal). Core knows no torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

EPSILON = 1e-6


def group_advantages(
    scores: Sequence[float | None], take_part: Sequence[bool], *, masked_in_group: bool = False
) -> list[float]:
    """Advantages of one group, in its order; 0 for a sample that takes no part.

    ``scores``: None where there is none. ``take_part``: false for masked samples, which count
    in the mean and the deviation only with ``masked_in_group``.
    """
    known = [(s, t) for s, t in zip(scores, take_part, strict=True) if s is not None]
    counted = [score for score, takes in known if takes or masked_in_group]
    if len(counted) < 2 or min(counted) == max(counted):
        return [0.0] * len(scores)
    mean = math.fsum(counted) / len(counted)
    variance = math.fsum((score - mean) ** 2 for score in counted) / (len(counted) - 1)
    scale = math.sqrt(variance) + EPSILON
    return [
        (score - mean) / scale if score is not None and takes else 0.0
        for score, takes in zip(scores, take_part, strict=True)
    ]


def ranks(scores: Sequence[float | None]) -> list[int | None]:
    """The place of each score among the group's, best first from 1; equal scores share one."""
    order = sorted({score for score in scores if score is not None}, reverse=True)
    places = {score: place for place, score in enumerate(order, 1)}
    return [places[score] if score is not None else None for score in scores]
