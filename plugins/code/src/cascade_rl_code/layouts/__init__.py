"""How public data sets lay out their problems: one small reader each, all to ``Problem``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cascade_rl_code.layouts import contests, functions, livecodebench, own
from cascade_rl_code.layouts.problem import BadRow, Problem
from cascade_rl_code.options import Options, Source

Reader = Callable[[dict[str, Any], Options], Problem]

READERS: dict[Source, Reader] = {
    "jsonl": own.read,
    "humaneval": functions.humaneval,
    "mbpp": functions.mbpp,
    "acecode": functions.acecode,
    "leetcode": functions.leetcode,
    "livecodebench": livecodebench.read,
    "apps": contests.apps,
    "taco": contests.apps,
    "code_contests": contests.code_contests,
    "deepcoder": contests.deepcoder,
}

__all__ = ["READERS", "BadRow", "Problem", "Reader"]
