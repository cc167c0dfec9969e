"""Values that change from step to step. Steps count from 0 within a stage."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from cascade_rl.config.schema import AdvanceConfig, Knot, OptimizerConfig, ScheduleConfig
from cascade_rl.types import LengthBudget, SamplingParams

T = TypeVar("T", int, float)


def value_at(knots: Sequence[Knot], step: int, default: T) -> T:
    """The value of the last knot at or before ``step``; ``default`` before the first.

    The result has the type of ``default``: a schedule of token counts stays whole.
    """
    reached = [knot for knot in knots if knot.step <= step]
    if not reached:
        return default
    value = max(reached, key=lambda knot: knot.step).value
    return type(default)(value)


def limits_at(
    schedule: ScheduleConfig, budget: LengthBudget, sampling: SamplingParams, step: int
) -> tuple[LengthBudget, SamplingParams]:
    """The budget and the sampling of a step, with the stage's schedules applied."""
    tokens = value_at(schedule.completion_tokens, step, budget.completion_tokens)
    temperature = value_at(schedule.temperature, step, sampling.temperature)
    return (
        budget.model_copy(update={"completion_tokens": tokens}),
        sampling.model_copy(update={"temperature": temperature}),
    )


def learning_rate(config: OptimizerConfig, step: int, total_steps: int) -> float:
    """The learning rate of one update.

    Warm-up is linear and reaches ``lr`` at step ``warmup_steps``; its first step is at
    ``lr / (warmup_steps + 1)``, never 0. ``cosine`` then falls to ``min_lr`` at the stage's
    end (step ``total_steps``, which is one past the last update).
    """
    if step < config.warmup_steps:
        return config.lr * (step + 1) / (config.warmup_steps + 1)
    length = max(total_steps - config.warmup_steps, 1)
    progress = min((step - config.warmup_steps) / length, 1.0)
    return _SHAPES[config.schedule](config, progress)


def _constant(config: OptimizerConfig, _progress: float) -> float:
    return config.lr


def _cosine(config: OptimizerConfig, progress: float) -> float:
    share = 0.5 * (1 + math.cos(math.pi * progress))
    return config.min_lr + (config.lr - config.min_lr) * share


_SHAPES: dict[str, Callable[[OptimizerConfig, float], float]] = {
    "constant": _constant,
    "cosine": _cosine,
}


def should_advance(truncation_rates: Sequence[float], config: AdvanceConfig | None) -> bool:
    """Whether the stage may end: the mean of the last ``window`` rates is below the limit.

    ``truncation_rates`` has one entry a step so far. Never before a full window, nor before
    ``min_steps`` steps. The paper moves on at about 10 % in Math RL.
    """
    if config is None or len(truncation_rates) < max(config.window, config.min_steps):
        return False
    window = truncation_rates[-config.window :]
    return math.fsum(window) / len(window) < config.truncation_below
