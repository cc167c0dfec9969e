"""Cascade RL domain ``ifeval``: verifiable instructions, for IF-RL and IFEval.

The entry point names this module. It re-exports the hook implementations and imports
nothing heavy: langdetect, pyarrow and datasets are loaded when they are needed.
"""

from cascade_rl_ifeval.domain import (
    gold_completion,
    length_budget,
    load_demonstrations,
    load_prompts,
    reward,
    sampling_params,
)
from cascade_rl_ifeval.options import Options

__all__ = [
    "Options",
    "gold_completion",
    "length_budget",
    "load_demonstrations",
    "load_prompts",
    "reward",
    "sampling_params",
]
