"""Cascade RL: domains, their rewards, and the cascades that train on them.

These names are all that a pack needs. The engine is ``cascade_rl.engine.RewardEngine``.
"""

from cascade_rl.errors import CascadeError
from cascade_rl.hooks import HOOK_VERSION, hookimpl
from cascade_rl.types import (
    Completion,
    Demonstration,
    Example,
    LengthBudget,
    Message,
    Prompt,
    Reward,
    Sample,
    SamplingParams,
    Stage,
)

__version__ = "0.1.0"

__all__ = [
    "HOOK_VERSION",
    "CascadeError",
    "Completion",
    "Demonstration",
    "Example",
    "LengthBudget",
    "Message",
    "Prompt",
    "Reward",
    "Sample",
    "SamplingParams",
    "Stage",
    "hookimpl",
]
