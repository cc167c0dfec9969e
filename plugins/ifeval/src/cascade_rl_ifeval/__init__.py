"""Cascade RL domain ``ifeval``: verifiable instructions, for IF-RL and IFEval.

The entry point names this module. It re-exports the hook implementations and imports
nothing heavy: langdetect, pyarrow and datasets are loaded when they are needed.
"""

from cascade_rl_ifeval.domain import (
    examples,
    gold_completion,
    length_budget,
    load_demonstrations,
    load_prompts,
    open,  # noqa: A004 - the name of the hook
    reward,
    sampling_params,
)
from cascade_rl_ifeval.options import Options

__all__ = [
    "Options",
    "examples",
    "gold_completion",
    "length_budget",
    "load_demonstrations",
    "load_prompts",
    "open",
    "reward",
    "sampling_params",
]
