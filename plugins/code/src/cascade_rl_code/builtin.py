"""Problems that come with the pack (``builtin.jsonl``, in its own layout): it works offline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from cascade_rl_code.layouts import own
from cascade_rl_code.layouts.problem import Problem
from cascade_rl_code.options import Options


def builtin_problems() -> Iterator[Problem]:
    """Two dozen problems of every kind of test, each with a reference solution in Python."""
    options = Options()
    with Path(__file__).with_name("builtin.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield own.read(json.loads(line), options)
