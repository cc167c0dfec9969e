"""The README's example runs, and its tables name what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cascade_rl_code import Options
from cascade_rl_code.checkers import CHECKERS
from cascade_rl_code.layouts import READERS
from cascade_rl_code.truth import GroundTruth, read_truth
from cascade_rl_code.verdicts import Verdict

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_runs(sandbox, monkeypatch):
    monkeypatch.setattr("cascade_rl_code.close", lambda: None)  # the run's sandbox stays warm
    (code,) = re.findall(r"```python\n(.*?)\n```\n", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})


def test_the_ground_truth_is_one():
    (text,) = re.findall(r"```json\n(.*?)\n```", README, re.DOTALL)
    assert read_truth(json.loads(text)).limits.memory_mb == 256


def test_the_tables_are_complete():
    for name in GroundTruth.model_fields:
        assert f"| `{name}` |" in README
    for name in (*Options.model_fields, *READERS):
        assert f"`{name}`" in README
    for name in Verdict:
        assert re.search(rf"\b{name}\b", README)
    listed = re.search(r"testlib's verdicts: (.*?)\. Or", README, re.DOTALL)[1]
    assert re.split(r",\s+", listed) == sorted(CHECKERS)
