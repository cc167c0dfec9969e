"""Discovery reads metadata once and loads lazily; a class pack and a module pack are equal."""

from __future__ import annotations

import sys

from cascade_rl import Completion, Prompt
from cascade_rl.registry import Registry, discover, held_out

MANY = """
from cascade_rl import LengthBudget, Prompt, SamplingParams, hookimpl

@hookimpl
def load_prompts(split):
    return [Prompt.from_text(f"p{i}", "?") for i in range(1000)] if split == "train" else []

@hookimpl
def reward(): return 1.0

@hookimpl
def length_budget(): return LengthBudget(prompt_tokens=8, completion_tokens=8)

@hookimpl
def sampling_params(): return SamplingParams()
"""

CLASS = """
from pydantic import BaseModel
from cascade_rl import LengthBudget, Prompt, SamplingParams, hookimpl

class Haiku:
    class Options(BaseModel):
        points: float = 2.0

    def __init__(self, options): self.points = options.points

    @hookimpl
    def load_prompts(self, split): return []

    @hookimpl
    def reward(self, completion, options): return self.points + options.points

    @hookimpl
    def length_budget(self): return LengthBudget(prompt_tokens=8, completion_tokens=8)

    @hookimpl
    def sampling_params(self): return SamplingParams()
"""


def write_metadata(folder, name, version, entry_points):
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(entry_points)
    return info


def test_listing_imports_nothing(make_pack):
    module = make_pack("haiku", "raise SystemExit('imported')")
    assert "haiku" in discover().names("cascade_rl.domains")
    assert module not in sys.modules


def test_a_class_pack_gets_its_options(make_pack):
    make_pack("haiku", CLASS, attribute="Haiku")
    domain = Registry().open("haiku", {"points": 3})
    prompt = Prompt.from_text("p", "?")
    assert domain.reward(prompt, Completion(text="x"), None) == 6.0


def test_opening_twice_gives_two_independent_domains_with_one_implementation_each(make_pack):
    make_pack("haiku", CLASS, attribute="Haiku")
    registry = Registry()
    domains = [registry.open("haiku", {"points": n}) for n in (1, 2, 3)]
    prompt, completion = Prompt.from_text("p", "?"), Completion(text="x")
    assert [d.reward(prompt, completion, None) for d in domains] == [2.0, 4.0, 6.0]
    assert len(domains[0]._manager.hook.reward.get_hookimpls()) == 1


def test_a_tenth_is_held_out_by_id_where_there_is_no_eval_split(make_pack):
    make_pack("haiku", MANY)
    domain = Registry().open("haiku")
    train, held = domain.load_prompts("train"), domain.load_prompts("eval")
    assert {p.id for p in train} | {p.id for p in held} == {f"p{i}" for i in range(1000)}
    assert not {p.id for p in train} & {p.id for p in held}
    assert 60 <= len(held) <= 140
    assert [p.id for p in held] == [f"p{i}" for i in range(1000) if held_out(f"p{i}")]


def test_a_pack_that_does_not_name_split_has_a_tenth_held_out(make_pack):
    ignoring = MANY.replace("(split)", "()").replace(' if split == "train" else []', "")
    make_pack("haiku", ignoring)
    domain = Registry().open("haiku")
    assert len(domain.load_prompts("train")) + len(domain.load_prompts("eval")) == 1000


def test_a_distribution_seen_twice_counts_once_from_the_first_on_the_path(tmp_path):
    point = "[cascade_rl.domains]\ndup = {}\n"
    write_metadata(tmp_path / "work", "ddd", "2.0", point.format("new"))
    write_metadata(tmp_path / "site", "ddd", "1.0", point.format("old"))
    found = discover([str(tmp_path / "work"), str(tmp_path / "site")])
    assert [(a.version, a.value) for a in found.announcements] == [("2.0", "new")]
    assert found.warnings == []


def test_stale_metadata_beside_a_newer_version_is_left_out_and_named(tmp_path):
    old = write_metadata(tmp_path, "pkg", "1.0", "[cascade_rl.domains]\nlate = mod_old\n")
    write_metadata(tmp_path, "pkg", "2.0", "[cascade_rl.domains]\nlate = mod_new\n")
    found = discover([str(tmp_path)])
    assert [a.value for a in found.announcements] == ["mod_new"]
    assert found.warnings == [f"stale metadata of pkg 1.0 beside 2.0, delete it: {old}"]


def test_version_ten_is_newer_than_nine(tmp_path):
    write_metadata(tmp_path, "pkg", "0.9", "[cascade_rl.domains]\nlate = nine\n")
    write_metadata(tmp_path, "pkg", "0.10", "[cascade_rl.domains]\nlate = ten\n")
    assert [a.value for a in discover([str(tmp_path)]).announcements] == ["ten"]


def test_an_empty_metadata_folder_hides_nothing(tmp_path):
    empty = tmp_path / "eee-1.0.dist-info"
    empty.mkdir()
    write_metadata(tmp_path, "eee", "2.0", "[cascade_rl.domains]\nlate = module\n")
    found = discover([str(tmp_path)])
    assert found.names("cascade_rl.domains") == ["late"]
    assert found.warnings == [f"empty metadata folder, delete it: {empty}"]


def test_one_object_in_two_groups_counts_once_and_is_reported(tmp_path):
    write_metadata(
        tmp_path, "two", "1.0", "[cascade_rl.domains]\np = m:P\n[cascade_rl.modifiers]\np = m:P\n"
    )
    found = discover([str(tmp_path)])
    assert [(a.group, a.name) for a in found.announcements] == [("cascade_rl.domains", "p")]
    assert found.warnings == [
        "two 1.0: p = m:P is listed in two groups, cascade_rl.domains and cascade_rl.modifiers; "
        "the first counts"
    ]
