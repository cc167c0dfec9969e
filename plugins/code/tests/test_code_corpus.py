"""A sample of the reference corpus; `benchmarks/code_verdicts.py` runs all of it."""

from __future__ import annotations

import gzip
import json
import re

import pytest

from cascade_rl.types import Completion, Prompt
from cascade_rl_code import Options, reward
from cascade_rl_code.layouts import READERS

#: Rows whose verdict differs on purpose, or rests on the speed of the machine: see the README.
DIFFERENT = {"cf00283", "cf01193", "cf01194"}


def prompt_of(row) -> Prompt:
    if row["task"].startswith("HumanEval"):
        entry = re.findall(r"^check\((\w+)\)", row["tests"], re.MULTILINE)[-1]
        fields = {"prompt": row["prompt"], "test": row["tests"], "entry_point": entry}
        problem = READERS["humaneval"](fields, Options())
    else:
        problem = READERS["mbpp"]({"text": row["prompt"], "test_list": [row["tests"]]}, Options())
    return Prompt.from_text(row["id"], problem.text, ground_truth=problem.truth)


@pytest.fixture(scope="module")
def rows(shared):
    with gzip.open(shared / "corpora" / "code_functions.jsonl.gz", "rt") as lines:
        return [row for row in map(json.loads, lines) if row["exec_status"] != "timeout"]


@pytest.mark.parametrize(
    ("kind", "step"),
    [("canonical", 9), ("mutant", 12), ("cheat:exit0", 6), ("cheat:always_equal", 6)],
)
def test_a_sample_gets_the_stored_verdicts(sandbox, rows, kind, step):
    sample = [row for row in rows if row["kind"].startswith(kind)][::step]
    assert len(sample) >= 15
    different = {
        row["id"]: result.reason
        for row in sample
        if (result := judged(row)).score != float(row["expected"])
    }
    assert different == {}


def test_the_one_deliberate_difference(sandbox, rows):
    """A mutant of a helper that the problem itself provides: tests use the provided one."""
    (row,) = (row for row in rows if row["id"] == "cf00283")
    assert row["task"] == "HumanEval/50"
    assert judged(row).score == 1


def judged(row):
    fenced = f"````python\n{row['solution']}\n````"
    return reward(prompt_of(row), Completion(text=fenced), Options())
