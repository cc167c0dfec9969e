"""From whatever a pack's ``reward`` returned or raised to one checked ``Reward``."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from typing import Any

from cascade_rl.registry import Domain
from cascade_rl.types import Completion, LengthBudget, Prompt, Record, Reward


class Item(Record):
    """One completion to score."""

    prompt: Prompt
    completion: Completion
    budget: LengthBudget | None = None


def score_now(domain: Domain, item: Item) -> Reward:
    """Score in this thread, without a deadline; an async reward runs to its end."""
    started = time.perf_counter()
    try:
        value = domain.reward(item.prompt, item.completion, item.budget)
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
        reward = to_reward(value)
    except Exception as error:
        reward = fault(error)
    return settle(domain, item, reward, started)


async def score_async(domain: Domain, item: Item, timeout_s: float) -> Reward:
    """Score on the running loop; the reward is cancelled after ``timeout_s`` seconds."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(timeout_s) as clock:
            value = domain.reward(item.prompt, item.completion, item.budget)
            reward = to_reward(await value if inspect.isawaitable(value) else value)
    except Exception as error:
        late = isinstance(error, TimeoutError) and clock.expired()
        reward = timed_out(timeout_s) if late else fault(error)
    return settle(domain, item, reward, started)


def to_reward(value: Any) -> Reward:
    """A ``Reward`` as it is, a bool or a number as a score; anything else is an error."""
    if isinstance(value, Reward):
        return value
    if isinstance(value, bool):
        return Reward.verdict(value)
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            return Reward.unscored("error", f"the pack returned {value}; a score is finite")
        return Reward(score=float(value))
    if value is None:
        return Reward.unscored(
            "error", "the pack returned None; return Reward.unscored(status, reason) instead"
        )
    kind = type(value).__name__
    return Reward.unscored("error", f"the pack returned {kind} {value!r:.80}, not a Reward")


def fault(error: Exception) -> Reward:
    """The reward of a sample on which the pack raised."""
    return Reward.unscored("error", f"{type(error).__name__}: {error}"[:500])


def timed_out(timeout_s: float) -> Reward:
    """The reward of a sample that was not judged in time."""
    return Reward.unscored("timeout", f"no verdict within {timeout_s:g} s")


def settle(domain: Domain, item: Item, reward: Reward, started: float) -> Reward:
    """Add what the engine knows: truncation and its price, the time, the pack's version."""
    known: dict[str, Any] = {
        "ms": round((time.perf_counter() - started) * 1e3, 3),
        "pack_version": domain.version,
    }
    if is_truncated(item):
        known["truncated"] = True
        if item.budget and item.budget.overlong == "zero" and reward.status == "scored":
            known |= {"score": 0.0, "correct": False}
            known["reason"] = f"truncated at the budget, scored 0; was: {reward.reason}"
    return reward.model_copy(update=known)


def is_truncated(item: Item) -> bool:
    """Whether the completion ended at a limit instead of by itself."""
    over = item.budget and item.completion.tokens is not None
    return item.completion.finish_reason == "length" or bool(
        over and item.completion.tokens > item.budget.completion_tokens  # type: ignore[union-attr,operator]
    )


async def _awaited(value: Any) -> Any:
    return await value
