"""Whatever valid value is set, it arrives, alone, and is said to come from ``--set``."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cascade_rl.config.load import validate
from cascade_rl.config.overrides import apply_overrides
from cascade_rl.config.source import Source
from cascade_rl.config.yaml_text import parse_yaml

TEXT = """\
name: x
model: {build: {}}
stages:
  - {name: a, domain: haiku, steps: 10}
  - {name: b.c, kind: sft, domains: [haiku], steps: 10}
"""
_data, _lines = parse_yaml(TEXT, "c.yaml")
SOURCE = Source("c.yaml", _data, _lines)
COUNT = st.integers(1, 10**9)
SHARE = st.floats(0, 1)
OVERLONG = st.sampled_from(["mask", "zero", "keep"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
KEYS: dict[str, st.SearchStrategy[Any]] = {
    "seed": st.integers(0, 2**31),
    "reward_timeout_s": st.floats(1e-3, 1e6),
    "stages.a.steps": COUNT,
    "stages[1].steps": COUNT,
    "stages.b.c.batch_size": COUNT,
    "stages.a.optimizer.lr": st.floats(1e-12, 1, exclude_min=True),
    "stages.a.budget.overlong": OVERLONG,
    "stages.a.max_unscored": SHARE,
    "stages.a.masked_in_group": st.booleans(),
    "domains.haiku.sampling.n": COUNT,
    "domains.haiku.options.anything": JSON,
    "evaluation.greedy": st.booleans(),
    "model.build.context": COUNT,
}
OVERRIDES = st.lists(
    st.sampled_from(sorted(KEYS)).flatmap(lambda key: st.tuples(st.just(key), KEYS[key])),
    max_size=5,
    unique_by=lambda item: item[0],
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(OVERRIDES)
def test_valid_overrides_arrive(overrides):
    changed = apply_overrides(SOURCE, [f"{key}={json.dumps(value)}" for key, value in overrides])
    config, problems = validate(changed)
    assert problems == []
    data = config.model_dump()
    for key, value in overrides:
        path = PATHS[key]
        found = data
        for part in path:
            found = found[part]
        assert found == value
        assert changed.origin(path) == "--set"
    given = {PATHS[key] for key, _ in overrides}
    for path in SOURCE.lines:
        if not any(path[: len(p)] == p or p[: len(path)] == path for p in given):
            assert changed.origin(path) == SOURCE.origin(path)


PATHS: dict[str, tuple[str | int, ...]] = {
    key: ("stages", 0, *key.split(".")[2:])
    if key.startswith("stages.a.")
    else tuple(key.split("."))
    for key in KEYS
} | {
    "stages[1].steps": ("stages", 1, "steps"),
    "stages.b.c.batch_size": ("stages", 1, "batch_size"),
}


@settings(max_examples=300, deadline=None, derandomize=True)
@given(JSON)
def test_all_of_json_is_read_as_json_reads_it(value):
    found, _ = parse_yaml(json.dumps(value), "x")
    assert found == value
    assert json.dumps(found) == json.dumps(value)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.sampled_from(
        [
            "stages",
            "model",
            "domains",
            "evaluation",
            "name",
            "seed",
            "model.build",
            "stages.a",
            "stages.a.gates",
            "stages.a.rewards",
            "stages.a.domains",
            "stages.a.modes",
        ]
    ),
    JSON,
)
def test_anything_at_all_is_either_valid_or_explained(key, value):
    """No value, however odd, is an exception or a text of pydantic's."""
    config, problems = validate(apply_overrides(SOURCE, [f"{key}={json.dumps(value)}"]))
    assert (config is None) == bool(problems)
    for problem in problems:
        assert problem.text
        assert "Input should" not in problem.text
        assert problem.where == "--set" or problem.where.startswith("c.yaml:")
