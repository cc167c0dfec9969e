"""Scoring: one engine over interchangeable executors."""

from cascade_rl.engine.engine import RewardEngine
from cascade_rl.engine.verdict import Item, to_reward

__all__ = ["Item", "RewardEngine", "to_reward"]
