"""Which layer wins, key by key, and what is said about where each value came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from cascade_rl.config.load import load_config
from cascade_rl.config.resolve import Resolution, output_folder, resolve, trace
from cascade_rl.errors import BadOptions, ConfigError, UnknownDomain
from cascade_rl.registry import Registry
from cascade_rl.types import LengthBudget, SamplingParams

TEXT = """\
name: x
model: {build: {}}
domains:
  haiku:
    options: {count: 50, words: 5}
    budget: {prompt_tokens: 30, completion_tokens: 70}
    sampling: {top_p: 0.9}
stages:
  - name: warm
    kind: sft
    steps: 5
    domains: {haiku: 2}
    budget: {completion_tokens: 33}
  - name: short
    domain: haiku
    steps: 10
    batch_size: 16
    options: {count: 60}
    budget: {completion_tokens: 40}
    sampling: {n: 4}
    optimizer: {betas: [0.8, 0.9]}
  - name: haiku-long
    domain: haiku
    steps: 10
  - name: ode
    domain: ode
    steps: 10
"""

pytestmark = pytest.mark.usefixtures("toy_packs")


def traced(tmp_path: Path, *overrides: str, text: str = TEXT) -> Resolution:
    (tmp_path / "c.yaml").write_text(text)
    source, config = load_config(tmp_path / "c.yaml", overrides)
    return trace(source, config, Registry())


def test_every_layer_and_its_origin(tmp_path):
    resolution = traced(tmp_path, "stages.short.sampling.temperature=0.7", "seed=1")
    use = resolution.stages[1].domains[0]
    assert {key: tuple(value[:2]) for key, value in use.values.items()} == {
        "options.count": (60, "c.yaml:18"),
        "options.held_out": (10, "pack haiku 1.0"),
        "options.words": (5, "c.yaml:5"),
        "options.lines": (None, "pack haiku 1.0"),
        "options.style": ("old", "pack haiku 1.0"),
        "options.path": (None, "pack haiku 1.0"),
        "options.hub": (None, "pack haiku 1.0"),
        "options.temperature_by_mode": (False, "pack haiku 1.0"),
        "budget.prompt_tokens": (30, "c.yaml:6"),
        "budget.completion_tokens": (40, "c.yaml:19"),
        "budget.overlong": ("mask", "pack haiku 1.0"),
        "sampling.temperature": (0.7, "--set"),
        "sampling.top_p": (0.9, "c.yaml:7"),
        "sampling.top_k": (0, "pack haiku 1.0"),
        "sampling.n": (4, "c.yaml:20"),
    }
    stage = resolution.stages[1].values
    assert stage["steps"][:2] == (10, "c.yaml:16")
    assert stage["optimizer.betas"][:2] == ((0.8, 0.9), "c.yaml:21")
    assert stage["optimizer.lr"][:2] == (2e-6, "default")
    assert "domains" not in stage
    assert resolution.values["seed"][:2] == (1, "--set")
    assert resolution.values["model.build.layers"][:2] == (2, "default")


def test_only_given_options_reach_the_pack(tmp_path):
    """A pack may forbid combinations of options; its defaults must not count as given."""
    cascade = traced(tmp_path).cascade()
    assert cascade.stages[1].domains[0].options == {"count": 60, "words": 5}
    assert cascade.stages[1].stage.options == {"count": 60, "words": 5}
    assert cascade.stages[3].domains[0].options == {}


def test_set_beats_the_file_even_from_the_weaker_section(tmp_path):
    resolution = traced(tmp_path, "domains.haiku.sampling.n=2", "domains.haiku.options.count=9")
    use = resolution.stages[1].domains[0]
    assert use.values["sampling.n"][:2] == (2, "--set")
    assert use.values["options.count"][:2] == (9, "--set")
    both = traced(tmp_path, "stages.short.sampling.n=3", "domains.haiku.sampling.n=2")
    assert both.stages[1].domains[0].values["sampling.n"][:2] == (3, "--set")


def test_null_takes_an_override_back_but_is_a_value_for_an_option(tmp_path):
    resolution = traced(
        tmp_path, "stages.short.budget.completion_tokens=null", "stages.short.options.words=null"
    )
    use = resolution.stages[1].domains[0]
    assert use.values["budget.completion_tokens"][:2] == (70, "c.yaml:6")
    assert use.values["options.words"][:2] == (None, "--set")


def test_the_hook_is_asked_about_the_stage_itself(tmp_path):
    resolution = traced(tmp_path, "domains.haiku.budget.completion_tokens=null")
    budget = resolution.stages[2].domains[0].resolved.budget
    assert budget == LengthBudget(prompt_tokens=30, completion_tokens=100, overlong="mask")


def test_the_cascade_that_a_backend_gets(tmp_path):
    source, config = load_config(_file(tmp_path), ["domains.haiku.budget.completion_tokens=null"])
    cascade = resolve(source, config, Registry())
    warm, short, _, ode = cascade.stages
    assert (warm.stage.kind, warm.stage.index, warm.stage.options) == ("sft", 0, {})
    assert warm.domains[0].budget.completion_tokens == 33
    assert warm.origins["domains.haiku.budget.completion_tokens"] == "c.yaml:13"
    assert warm.origins["domains"] == "c.yaml:12"
    assert "schedule.temperature" not in warm.origins
    assert short.domains[0].sampling == SamplingParams(temperature=1.0, top_p=0.9, n=4)
    assert short.origins["budget.completion_tokens"] == "c.yaml:19"
    assert short.origins["batch_size"] == "c.yaml:17"
    assert ode.origins["sampling.n"] == "pack ode 2.1"
    evaluated = {domain.name: domain for domain in cascade.evaluation}
    assert list(evaluated) == ["haiku", "ode"]
    # Asked as in haiku-long, the last stage that trains it; options of domains.haiku alone.
    assert evaluated["haiku"].budget == LengthBudget(
        prompt_tokens=30, completion_tokens=100, overlong="keep"
    )
    assert evaluated["haiku"].options == {"count": 50, "words": 5}
    assert evaluated["haiku"].sampling == SamplingParams(temperature=1.0, top_p=0.9, n=4)


def test_an_evaluated_domain_that_no_stage_trains(tmp_path):
    text = TEXT.replace("  - name: ode\n    domain: ode\n    steps: 10\n", "")
    text += "evaluation: {domains: [ode], samples: 2}\n"
    use = traced(tmp_path, text=text).evaluation[0]
    assert use.resolved.budget.completion_tokens == 100  # asked about the last stage
    assert use.values["sampling.n"][:2] == (2, "c.yaml:25")
    assert use.path == ("evaluation", "domains", 0)


def test_a_demonstration_list_has_an_entry_a_domain(tmp_path):
    text = TEXT.replace("domains: {haiku: 2}", "domains: [haiku, ode]")
    stage = traced(tmp_path, text=text).stages[0]
    assert [use.name for use in stage.domains] == ["haiku", "ode"]
    assert stage.domains[1].path == ("stages", 0, "domains", 1)
    assert stage.origins["domains.ode.budget.prompt_tokens"] == "pack ode 2.1"


def test_a_pack_that_is_missing_leaves_the_rest_known(tmp_path):
    text = TEXT.replace("domain: ode", "domain: swe")
    resolution = traced(tmp_path, "domains.swe.sampling.n=4", text=text)
    use = resolution.stages[3].domains[0]
    assert isinstance(use.error, UnknownDomain)
    assert use.resolved is None
    assert use.values == {"sampling.n": (4, "--set", ("domains", "swe", "sampling", "n"))}
    assert resolution.stages[1].domains[0].resolved is not None
    with pytest.raises(UnknownDomain, match="pip install cascade-rl-swe"):
        resolution.cascade()


def test_several_packs_that_fail_are_one_error_with_all(tmp_path):
    text = TEXT.replace("domain: ode", "domain: swe")
    resolution = traced(tmp_path, "stages.short.options.style=older", text=text)
    with pytest.raises(ConfigError) as caught:
        resolution.cascade()
    assert len(str(caught.value).splitlines()) == 2
    with pytest.raises(BadOptions, match="'old' or 'new'"):
        traced(tmp_path, "stages.short.options.style=older").cascade()


def test_an_option_that_is_a_mapping_is_replaced_whole_and_says_who_touched_it(tmp_path):
    text = TEXT.replace("options: {count: 60}", "options: {count: {a: 1, b: 2}}")
    resolution = traced(tmp_path, "stages.short.options.count.b=3", text=text)
    value = resolution.stages[1].domains[0].values["options.count"]
    assert value[:2] == ({"a": 1, "b": 3}, "c.yaml:18, --set")


def test_output_folder(tmp_path):
    _, config = load_config(_file(tmp_path))
    assert output_folder(config) == Path("runs/x")
    _, config = load_config(_file(tmp_path), ["output=~/a"])
    assert output_folder(config) == Path.home() / "a"


def _file(tmp_path: Path) -> Path:
    (tmp_path / "c.yaml").write_text(TEXT)
    return tmp_path / "c.yaml"
