"""The packaging faults that users of other projects have reported, each with the right behaviour.

The cases are in `../shared/cases/public_reports.jsonl`, area `plugin`; each has a test of its name.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from cascade_rl.errors import BadHookSignature, PackImportError
from cascade_rl.hooks import DOMAIN_GROUP
from cascade_rl.registry import Registry

CASES = Path(__file__).parents[3] / "shared" / "cases" / "public_reports.jsonl"
PACK = """
from cascade_rl import LengthBudget, Prompt, SamplingParams, hookimpl

@hookimpl
def load_prompts(): return [Prompt.from_text(f"p{n}", "?") for n in range(40)]

@hookimpl
def reward(completion): return 1.0

@hookimpl
def length_budget(): return LengthBudget(prompt_tokens=8, completion_tokens=8)

@hookimpl
def sampling_params(): return SamplingParams()
"""


@pytest.fixture
def site(tmp_path):
    return tmp_path / "site-packages"


def bug_plugin_01(make_pack, site):
    """One broken plugin stops no other, and is named with its distribution and cause."""
    make_pack("broken", "import no_such_mod_q", distribution="pack-broken")
    make_pack("good", PACK, distribution="pack-good")
    outcome = Registry().check()
    assert outcome["good"] is None
    assert isinstance(outcome["broken"], PackImportError)
    said = str(outcome["broken"])
    assert "domain 'broken' from pack-broken 1.0 (pack_broken_broken)" in said
    assert "No module named 'no_such_mod_q'" in said


def bug_plugin_04(make_pack, site):
    """A distribution that is seen twice is registered once, from the first on the path."""
    make_pack("dup", PACK, distribution="ddd", version="2.0")
    later = site.parent / "later"
    later.mkdir()
    write_metadata(later, "ddd", "1.0", "dup = ddd_dup")
    found = Registry([str(site), str(later)]).discovery.named(DOMAIN_GROUP, "dup")
    assert [a.version for a in found] == ["2.0"]


def bug_plugin_05(make_pack, site):
    """Of a leftover and the new version in one folder only the new one's entry points count."""
    make_pack("new", PACK, distribution="pkg", version="2.0")
    write_metadata(site, "pkg", "1.0", "old = mod_old")
    registry = Registry([str(site)])
    assert registry.discovery.names(DOMAIN_GROUP) == ["new"]
    (warning,) = registry.discovery.warnings
    assert "stale metadata of pkg 1.0 beside 2.0, delete it:" in warning
    assert warning.endswith("pkg-1.0.dist-info")


def bug_plugin_06(make_pack, site):
    """An empty left-over metadata folder hides nothing and is warned of."""
    make_pack("late", PACK, distribution="eee", version="2.0")
    (site / "eee-1.0.dist-info").mkdir()
    importlib.invalidate_caches()
    registry = Registry([str(site)])
    assert registry.discovery.names(DOMAIN_GROUP) == ["late"]
    (warning,) = registry.discovery.warnings
    assert "empty metadata folder, delete it:" in warning
    assert warning.endswith("eee-1.0.dist-info")


def bug_plugin_08(make_pack, site):
    """Loading again imports nothing again and registers nothing twice."""
    source = PACK + "\nimport builtins\nbuiltins.times = getattr(builtins, 'times', 0) + 1\n"
    make_pack("one", source)
    registry = Registry()
    domains = [registry.open("one") for _ in range(3)]
    import builtins

    try:
        assert builtins.times == 1
    finally:
        del builtins.times
    assert [len(d.load_prompts("train") + d.load_prompts("eval")) for d in domains] == [40] * 3


def bug_plugin_10(make_pack, site):
    """One object published under two groups is registered once, and reported."""
    make_pack("p", PACK, distribution="both")
    info = site / "both-1.0.dist-info" / "entry_points.txt"
    info.write_text(info.read_text() + "[cascade_rl.modifiers]\np = both_p\n")
    importlib.invalidate_caches()
    registry = Registry([str(site)])
    assert len([a for a in registry.discovery.announcements if a.name == "p"]) == 1
    (warning,) = registry.discovery.warnings
    assert "p = both_p is listed in two groups" in warning


def bug_plugin_11(make_pack, site):
    """Arguments go by keyword in any order; another framework's names are errors at load."""
    swapped = PACK.replace(
        "def reward(completion): return 1.0",
        "def reward(completion, prompt): return float(completion.text == '1')",
    )
    make_pack("swapped", swapped, distribution="swapped")
    foreign = PACK.replace("def reward(completion)", "def reward(data_source, solution_str)")
    make_pack("foreign", foreign, distribution="foreign")
    from cascade_rl import Completion

    domain = Registry().open("swapped")
    prompt = domain.load_prompts("train")[0]
    assert domain.reward(prompt, Completion(text="1"), None) == 1.0
    with pytest.raises(BadHookSignature, match="hook 'reward' has no argument 'data_source'"):
        Registry().open("foreign")


def write_metadata(folder, name, version, point):
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{DOMAIN_GROUP}]\n{point}\n")
    importlib.invalidate_caches()


TESTS = {
    name.replace("_", "-"): function
    for name, function in vars(sys.modules[__name__]).items()
    if name.startswith("bug_plugin_")
}


@pytest.mark.parametrize("case", TESTS)
def test_a_public_report(make_pack, site, case):
    TESTS[case](make_pack, site)


def test_every_case_of_the_area_has_its_test():
    if not CASES.exists():
        pytest.skip("the public reports are kept beside the repository, in ../shared")
    lines = [json.loads(line) for line in CASES.read_text().splitlines()]
    assert {c["id"] for c in lines if c["area"] == "plugin"} == set(TESTS)
