"""Agreement with verdicts which the official code wrote, where that corpus exists."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from cascade_rl_ifeval.verifier import judge, requirements

REPOSITORY = Path(__file__).resolve().parents[3]
CORPUS = REPOSITORY.parent / "shared" / "corpora" / "ifeval.jsonl.gz"
README = Path(__file__).resolve().parents[1] / "README.md"

pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="no ../shared/corpora/ifeval.jsonl.gz")


def test_verdicts_agree_and_every_difference_is_in_the_readme():
    counts = {"strict": 0, "loose": 0}
    differences = set()
    total = 0
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            verdicts = judge(row["response"], requirements(row))
            total += len(verdicts)
            for metric in counts:
                ours = [getattr(verdict, metric) for verdict in verdicts]
                for verdict, mine, theirs in zip(verdicts, ours, row[metric], strict=True):
                    counts[metric] += mine == theirs
                    if mine != theirs:
                        differences.add((row["id"], verdict.requirement.instruction.id))
    assert total > 4000
    assert counts["strict"] / total >= 0.995
    assert counts["loose"] / total >= 0.995
    table = re.findall(r"^\| `ife\d+`.*$", README.read_text("utf-8"), re.MULTILINE)
    assert len(table) == len(differences)
    for row_id, name in differences:
        assert any(f"`{row_id}`" in line and f"`{name}`" in line for line in table), (row_id, name)
