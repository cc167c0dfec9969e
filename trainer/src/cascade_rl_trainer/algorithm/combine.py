"""Weighted sums of reward terms. A term without a score leaves the total without one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cascade_rl.config.schema import RewardTerm
from cascade_rl.types import Reward


def term_names(terms: Sequence[RewardTerm]) -> list[str]:
    """The name of each term in the logs; the second `length` is `length_2`."""
    names: list[str] = []
    for term in terms:
        n = sum(t.name == term.name for t in terms[: len(names)])
        names.append(term.name if n == 0 else f"{term.name}_{n + 1}")
    return names


def combine_rewards(
    base: Reward, parts: Sequence[Reward | None], terms: Sequence[RewardTerm]
) -> Reward:
    """The sum of weight * score over the terms, as one reward.

    ``base`` is the domain's own reward, whose verdict (``correct``), extracted answer and
    truncation the total keeps. ``parts`` has one reward a term (None: it gave nothing).
    Each part's unweighted score becomes a component under the term's name.
    """
    if not terms or len(parts) != len(terms):
        raise ValueError(f"{len(parts)} parts for {len(terms)} reward terms; one each, at least 1")
    names = term_names(terms)
    scores = {name: part.score if part else None for name, part in zip(names, parts, strict=True)}
    components = {**base.components, **scores}
    for name, part in zip(names, parts, strict=True):
        if part is None or part.score is None:
            return _missing(base, name, part, components)
    total = sum(t.weight * (scores[n] or 0.0) for t, n in zip(terms, names, strict=True))
    if not math.isfinite(total):
        return _unscored(base, "error", f"the weighted sum is {total}", components)
    return base.model_copy(
        update={
            "score": total,
            "status": "scored",
            "components": components,
            "reason": "; ".join(p.reason for p in parts if p and p.reason) or base.reason,
        }
    )


def _missing(
    base: Reward, name: str, part: Reward | None, components: dict[str, float | None]
) -> Reward:
    if part is None:
        return _unscored(base, "error", f"reward term {name!r} is missing", components)
    why = f"reward term {name!r} has no score ({part.status}): {part.reason}"
    return _unscored(base, part.status, why, components)


def _unscored(
    base: Reward, status: str, reason: str, components: dict[str, float | None]
) -> Reward:
    return base.model_copy(
        update={
            "score": None,
            "correct": None,
            "status": status,
            "reason": reason,
            "components": components,
        }
    )


def cancelling_terms(rewards: Sequence[Reward], terms: Sequence[RewardTerm]) -> tuple[str, ...]:
    """The terms of one group that vary although their weighted sum does not.

    Empty when the total varies, or when nothing does. Such a group trains on nothing, which
    looks like a fault and deserves a warning with these names.
    """
    scored = [r for r in rewards if r.score is not None]
    named = [n for n, t in zip(term_names(terms), terms, strict=True) if t.weight != 0]
    spreads = {n: _spread([r.components.get(n) for r in scored]) for n in named}
    largest = max(spreads.values(), default=0.0)
    # A sum that cancels in exact arithmetic may differ in the last bits.
    if _spread([r.score for r in scored]) > 1e-12 * largest:
        return ()
    return tuple(name for name, spread in spreads.items() if spread > 0)


def _spread(values: Sequence[float | None]) -> float:
    known = [v for v in values if v is not None]
    return max(known) - min(known) if known else 0.0
