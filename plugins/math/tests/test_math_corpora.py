"""The reward against verdicts that people wrote, where the reference corpora are at hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from cascade_rl.types import Completion, Prompt
from cascade_rl_math import Options, reward

CORPORA = Path(__file__).resolve().parents[3].parent / "shared" / "corpora"


@pytest.mark.parametrize(
    ("corpus", "accuracy", "false_positives"),
    [("math_human", 0.95, 0), ("math_issues", 1.0, 0), ("math_solutions", 1.0, 0)],
)
def test_accuracy(corpus: str, accuracy: float, false_positives: int) -> None:
    path = CORPORA / f"{corpus}.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no reference corpora at {CORPORA}")
    right = wrong_and_paid = count = 0
    with gzip.open(path, "rt") as rows:
        for row in map(json.loads, rows):
            text = row["pred"] if "\\boxed" in row["pred"] else f"\\boxed{{{row['pred']}}}"
            prompt = Prompt.from_text(row["id"], "?", ground_truth=row["gold"])
            correct = reward(prompt, Completion(text=text), Options(time_limit_s=5)).correct
            count += 1
            right += correct == row["expected"]
            wrong_and_paid += bool(correct) and not row["expected"]
    assert right / count >= accuracy
    assert wrong_and_paid <= false_positives
