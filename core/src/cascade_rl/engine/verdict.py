"""From whatever a pack's ``reward`` returned or raised to one checked ``Reward``."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from typing import Any

from pydantic import ValidationError

from cascade_rl.engine.attempt import Attempt
from cascade_rl.engine.item import Item
from cascade_rl.errors import TransientError
from cascade_rl.registry import Domain
from cascade_rl.types import Completion, Reward

_FIELDS = tuple(Reward.model_fields)


def attempt_now(domain: Domain, item: Item) -> Attempt:
    """One try in this thread, without a deadline; an async reward runs to its end."""
    started = time.perf_counter()
    try:
        value = domain.reward(item.prompt, item.completion, item.budget)
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
        attempt = Attempt(to_reward(value))
    except (Exception, SystemExit) as error:
        attempt = fault(error)
    return settle(domain, item, attempt, started)


async def attempt_async(domain: Domain, item: Item, timeout_s: float) -> Attempt:
    """One try on the running loop; the reward is cancelled after ``timeout_s`` seconds."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(timeout_s) as clock:
            value = domain.reward(item.prompt, item.completion, item.budget)
            attempt = Attempt(to_reward(await value if inspect.isawaitable(value) else value))
    except (Exception, SystemExit) as error:
        late = isinstance(error, TimeoutError) and clock.expired()
        attempt = Attempt(timed_out(timeout_s)) if late else fault(error)
    return settle(domain, item, attempt, started)


def gold_item(domain: Domain, item: Item) -> Item | Attempt:
    """The pack's gold completion for the same prompt, or the end of the try without one."""
    try:
        text = domain.gold_completion(item.prompt)
    except Exception as error:
        return fault(error)
    if text is None or text == item.completion.text:
        return Attempt(Reward.unscored("abstained", "no gold completion to compare with"))
    return Item(prompt=item.prompt, completion=Completion(text=text))


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


def fault(error: BaseException) -> Attempt:
    """The end of a try in which the pack raised."""
    reward = Reward.unscored("error", f"{type(error).__name__}: {error}"[:500])
    if isinstance(error, TransientError):
        return Attempt(reward, retry_after_s=error.retry_after_s or 0.0)
    return Attempt(reward)


def timed_out(timeout_s: float) -> Reward:
    """The reward of a sample that was not judged in time."""
    return Reward.unscored("timeout", f"no verdict within {timeout_s:g} s")


def settle(domain: Domain, item: Item, attempt: Attempt, started: float) -> Attempt:
    """Add what the engine knows (truncation and its price, the time, the pack's version).

    The reward is validated once more before: ``model_copy`` and ``model_construct`` let a pack
    build one that no validator has seen.
    """
    reward = _checked(attempt.reward)
    known: dict[str, Any] = {
        "ms": round((time.perf_counter() - started) * 1e3, 3),
        "pack_version": domain.version,
    }
    if is_truncated(item):
        known["truncated"] = True
        if item.budget and item.budget.overlong == "zero" and reward.status == "scored":
            known |= {"score": 0.0, "correct": False}
            known["reason"] = f"truncated at the budget, scored 0; was: {reward.reason}"
    attempt.reward = reward.model_copy(update=known)
    return attempt


def is_truncated(item: Item) -> bool:
    """Whether the completion ended at a limit instead of by itself."""
    over = item.budget and item.completion.tokens is not None
    return item.completion.finish_reason == "length" or bool(
        over and item.completion.tokens > item.budget.completion_tokens  # type: ignore[union-attr,operator]
    )


def _checked(reward: Reward) -> Reward:
    try:
        return Reward.model_validate({name: getattr(reward, name) for name in _FIELDS})
    except (ValidationError, AttributeError) as error:
        text = " ".join(str(error).split())
        return Reward.unscored("error", f"the pack returned a Reward that is none: {text}"[:500])


async def _awaited(value: Any) -> Any:
    return await value
