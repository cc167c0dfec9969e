"""Every kind of notation in both directions: golds with answers that equal them and that do not.

``data/kinds.jsonl``: one gold a line, with its kind, the answers that must be paid and the
near misses that must not. A new kind is a few new lines there.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from cascade_rl_math.verify import verify

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "kinds.jsonl").read_text().splitlines()
]
KINDS: dict[str, list[dict[str, list[str]]]] = defaultdict(list)
for row in ROWS:
    KINDS[row["kind"]].append(row)


@pytest.mark.parametrize("kind", KINDS)
def test_equal(kind: str) -> None:
    missed = [
        (row["gold"], answer, verdict.layer)
        for row in KINDS[kind]
        for answer in [row["gold"], *row["equal"]]
        if not (verdict := verify(row["gold"], answer)).equal
    ]
    assert missed == []


@pytest.mark.parametrize("kind", KINDS)
def test_near_miss(kind: str) -> None:
    paid = [
        (row["gold"], answer, verdict.layer)
        for row in KINDS[kind]
        for answer in row["unequal"]
        if (verdict := verify(row["gold"], answer)).equal is not False
    ]
    assert paid == []


def test_every_kind_is_tested_both_ways() -> None:
    assert len(KINDS) >= 60
    for kind, rows in KINDS.items():
        assert any(row["unequal"] for row in rows), kind
    only_wrong = [kind for kind, rows in KINDS.items() if not any(row["equal"] for row in rows)]
    assert only_wrong == ["prose: several candidates", "prose: denials and bounds"]
