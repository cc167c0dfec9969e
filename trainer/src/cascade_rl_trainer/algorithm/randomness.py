"""Randomness as a function of names: the same (seed, stage, step, ...) gives the same draw.

No generator lives between steps, so a resumed run repeats an uninterrupted one. Python's
``hash()`` is not used: it differs from process to process.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from cascade_rl.types import Mode

_BITS = 63  # fits a signed 64-bit integer, which is what torch takes


def derive_seed(*parts: int | str) -> int:
    """An integer in [0, 2**63) from names and numbers; order and types matter."""
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode("ascii")).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _BITS)


def chance(*parts: int | str) -> float:
    """A number in [0, 1) from names and numbers."""
    return (derive_seed(*parts) >> (_BITS - 53)) / 2.0**53


def sample_seed(seed: int, stage: str, step: int, prompt_id: str, sample: int) -> int:
    """The seed of one completion: ``sample`` is its number within the group."""
    return derive_seed("sample", seed, stage, step, prompt_id, sample)


def epoch_order(prompt_ids: Sequence[str], seed: int, stage: str, epoch: int) -> list[str]:
    """The prompts in the order of one epoch. Does not depend on the order they come in."""
    return sorted(prompt_ids, key=lambda p: (derive_seed("epoch", seed, stage, epoch, p), p))


def assign_modes(
    count: int, shares: Mapping[Mode, float], seed: int, stage: str, step: int
) -> list[Mode]:
    """A mode for each of ``count`` prompts of one batch, split as exactly as it goes.

    Each mode gets the whole part of its share; what is left goes to the largest remainders
    (the paper's RLHF splits every batch half and half). Ties and the order
    within the batch are drawn from (seed, stage, step).
    """
    total = sum(shares.values())
    if not shares or total <= 0:
        raise ValueError(f"mode shares must add up to more than 0, got {dict(shares)}")
    exact = {mode: count * share / total for mode, share in shares.items()}
    counts = {mode: int(value) for mode, value in exact.items()}
    by_remainder = sorted(
        exact, key=lambda m: (counts[m] - exact[m], derive_seed("tie", seed, stage, step, m))
    )
    for mode in by_remainder[: count - sum(counts.values())]:
        counts[mode] += 1
    modes = [mode for mode, n in counts.items() for _ in range(n)]
    order = sorted(range(count), key=lambda i: derive_seed("mode", seed, stage, step, i))
    return [modes[i] for i in order]
