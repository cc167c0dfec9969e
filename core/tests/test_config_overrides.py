"""``--set``: the paths it takes, what it replaces, what it says of mistakes."""

from __future__ import annotations

import pytest

from cascade_rl.config.overrides import apply_overrides
from cascade_rl.config.source import Source, read_source
from cascade_rl.errors import ConfigError

TEXT = """\
name: x
model: {build: {layers: 3}}
stages:
  - name: math
    steps: 10
    budget: {completion_tokens: 50}
    gates:
      - {domain: math, max_drop: 0.1}
  - name: v1.5
    steps: 20
    domains: [math, ifeval]
evaluation:
"""


@pytest.fixture
def source(tmp_path, monkeypatch) -> Source:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text(TEXT)
    return read_source("c.yaml")


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("seed=3", ("seed",), 3),
        ("stages.math.steps=80", ("stages", 0, "steps"), 80),
        ("stages[1].steps=80", ("stages", 1, "steps"), 80),
        ("stages.v1.5.steps=80", ("stages", 1, "steps"), 80),
        ("stages.math.optimizer.lr=2e-3", ("stages", 0, "optimizer", "lr"), 2e-3),
        ("stages.math.gates[0].max_drop=0.2", ("stages", 0, "gates", 0, "max_drop"), 0.2),
        ("stages.v1.5.domains[1]=code", ("stages", 1, "domains", 1), "code"),
        ("domains.math.options.digits=2", ("domains", "math", "options", "digits"), 2),
        ("evaluation.prompts=10", ("evaluation", "prompts"), 10),
        ("model.build=null", ("model", "build"), None),
        ("model={path: m}", ("model",), {"path": "m"}),
        ("output=a=b", ("output",), "a=b"),
        ("output='{name}'", ("output",), "{name}"),
        (" seed = 3", ("seed",), 3),
        ("name=", ("name",), None),
    ],
)
def test_sets_a_value(source, override, path, value):
    changed = apply_overrides(source, [override])
    found = changed.data
    for part in path:
        found = found[part]
    assert found == value
    assert changed.origin(path) == "--set"
    assert changed.where(path) == "--set"
    assert changed.is_set(path)


def test_the_rest_keeps_its_line_and_the_source_is_not_changed(source):
    changed = apply_overrides(source, ["stages.math.budget.overlong=zero", "domains.math.x=1"])
    budget = ("stages", 0, "budget")
    assert changed.data["stages"][0]["budget"] == {"completion_tokens": 50, "overlong": "zero"}
    assert changed.origin((*budget, "completion_tokens")) == "c.yaml:6"
    assert changed.origin(budget) == "c.yaml:6, --set"
    assert changed.origin(("domains",)) == "--set"
    assert source.data["stages"][0]["budget"] == {"completion_tokens": 50}
    assert source.overridden == frozenset()


def test_a_section_is_replaced_whole_with_its_lines(source):
    changed = apply_overrides(source, ["stages.math.budget={overlong: zero}"])
    assert changed.data["stages"][0]["budget"] == {"overlong": "zero"}
    assert changed.origin(("stages", 0, "budget", "completion_tokens")) is None
    assert changed.origin(("stages", 0, "budget", "overlong")) == "--set"


def test_the_last_of_two_wins(source):
    changed = apply_overrides(source, ["seed=1", "seed=2", "model.build.layers=4", "model={}"])
    assert changed.data["seed"] == 2
    assert changed.data["model"] == {}
    assert changed.origin(("model", "build", "layers")) is None


FORM = "must be KEY=VALUE, such as seed=3, stages.math.steps=80 or stages[1].steps=80"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed", f"--set 'seed': {FORM}"),
        ("=3", f"--set '=3': {FORM}"),
        ("a..b=3", f"--set 'a..b=3': {FORM}"),
        ("stages[x].steps=3", f"--set 'stages[x].steps=3': {FORM}"),
        ("[0]=3", f"--set '[0]=3': {FORM}"),
        (
            "stages.mth.steps=3",
            "--set stages.mth.steps: no stage 'mth'; did you mean 'math'? Stages: math, v1.5",
        ),
        ("stages.zzz.steps=3", "--set stages.zzz.steps: no stage 'zzz'. Stages: math, v1.5"),
        ("stages[2].steps=3", "--set stages[2].steps: stages has no entry 2; use 0 to 1"),
        ("stages.v1.5.gates[0].x=3", "--set stages.v1.5.gates[0].x: stages[1].gates is not a list"),
        (
            "stages.v1.5.domains.code=3",
            "--set stages.v1.5.domains.code: stages[1].domains is a list; use stages[1].domains[0]",
        ),
        ("name.x=3", "--set name.x: name is 'x', which has no keys"),
        ("seed[0]=3", "--set seed[0]: seed is not a list"),
        ("seed=[1", None),
        ("seed={a: 1, a: 2}", "--set seed:1: key 'a' is given twice, first on line 1; remove one"),
    ],
)
def test_mistakes(source, override, message):
    with pytest.raises(ConfigError) as caught:
        apply_overrides(source, [override])
    assert message is None or str(caught.value) == message
    assert str(caught.value).startswith("--set ")


def test_all_mistakes_at_once(source):
    with pytest.raises(ConfigError) as caught:
        apply_overrides(source, ["a", "seed=3", "name.x=3"])
    assert str(caught.value).splitlines() == [
        f"--set 'a': {FORM}",
        "--set name.x: name is 'x', which has no keys",
    ]
