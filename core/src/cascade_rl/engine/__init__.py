"""Scoring: one engine over interchangeable executors."""

from cascade_rl.engine.engine import RewardEngine
from cascade_rl.engine.item import Item
from cascade_rl.engine.verdict import to_reward

__all__ = ["Item", "RewardEngine", "to_reward"]
