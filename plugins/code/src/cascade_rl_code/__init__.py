"""The code domain of Cascade RL: problems with tests, judged by running the answer in a sandbox.

This module is the entry point: it re-exports the hooks and imports nothing heavy.
"""

from cascade_rl_code.domain import (
    close,
    examples,
    gold_completion,
    length_budget,
    load_demonstrations,
    load_prompts,
    open,  # noqa: A004 - the hook's name
    reward,
    sampling_params,
)
from cascade_rl_code.options import Options
from cascade_rl_code.running import run_code

__all__ = [
    "Options",
    "close",
    "examples",
    "gold_completion",
    "length_budget",
    "load_demonstrations",
    "load_prompts",
    "open",
    "reward",
    "run_code",
    "sampling_params",
]
