"""The reward engine that a cascade file asks for, the same for every backend of the trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cascade_rl.config.schema import CascadeConfig
from cascade_rl.engine.engine import RewardEngine
from cascade_rl.registry import Registry


def engine_for(
    config: CascadeConfig, domain: str, options: dict[str, Any], registry: Registry | None = None
) -> RewardEngine:
    """An engine for ``domain`` with the file's workers, limits, cache and cluster.

    Raises what ``RewardEngine`` raises.
    """
    return RewardEngine(
        domain,
        options,
        workers=config.workers,
        timeout_s=config.reward_timeout_s,
        memory_mb=config.reward_memory_mb,
        cache=Path(config.reward_cache) if config.reward_cache else None,
        ray=config.reward_ray,
        registry=registry,
    )
