"""What the documentation shows, runs; what it lists, exists."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from cascade_rl.config import check, load_config, trace
from cascade_rl.registry import Registry
from cascade_rl.testing import write_pack

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def block(language: str, containing: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    (text,) = [b for b in found if containing in b]
    return text


def test_the_pack_of_the_readme_works_and_is_as_short_as_it_says(tmp_path, monkeypatch):
    source = block("python", "@hookimpl")
    assert len([line for line in source.splitlines() if line.strip()]) <= 15
    monkeypatch.syspath_prepend(str(tmp_path))
    module = write_pack(tmp_path, "haiku", source, distribution="cascade-rl-haiku")
    try:
        domain = Registry().open("haiku")
        assert len(domain.load_prompts("train")) > 0
        from cascade_rl import Completion
        from cascade_rl.engine import Item, RewardEngine

        prompt = domain.load_prompts("train")[0]
        with RewardEngine("haiku", workers=0) as engine:
            rewards = engine.score(
                Item(prompt=prompt, completion=Completion(text=text))
                for text in ("one\ntwo\nthree", "one line")
            )
        assert [r.score for r in rewards] == [1.0, 0.0]
    finally:
        sys.modules.pop(module, None)


def test_the_cascade_of_the_readme_has_nothing_wrong(tmp_path, monkeypatch):
    text = block("yaml", "stages:")
    assert len([line for line in text.splitlines() if line.strip()]) <= 15
    monkeypatch.chdir(tmp_path)
    Path("cascade.yaml").write_text(text)
    Path("my-model").mkdir()
    Path("my-model/config.json").write_text('{"max_position_embeddings": 4096}')
    registry = Registry()
    findings = check(trace(*load_config("cascade.yaml"), registry), registry)
    assert [str(f) for f in findings if f.kind != "warning"] == []


@pytest.mark.parametrize("recipe", sorted((ROOT / "recipes").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_recipe_has_nothing_wrong(recipe):
    registry = Registry()
    findings = check(trace(*load_config(recipe), registry), registry)
    assert [str(f) for f in findings if f.kind == "wrong"] == []


def test_the_config_reference_is_current():
    made = runpy.run_path(str(ROOT / "scripts" / "make_config_reference.py"))["page"]()
    assert made == (ROOT / "docs" / "config.md").read_text()


def test_every_dependency_is_justified():
    import tomllib

    text = (ROOT / "CONTRIBUTING.md").read_text()
    for project in [ROOT / "core", *sorted((ROOT / "plugins").iterdir()), ROOT / "trainer"]:
        declared = tomllib.loads((project / "pyproject.toml").read_text())["project"]
        for requirement in declared["dependencies"]:
            name = re.match(r"[A-Za-z0-9_-]+", requirement).group()
            assert name in text or name.startswith("cascade-rl"), f"{project.name}: {name}"
