"""Every check of the kit can fail: a pack broken in one place is caught by that check alone."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from cascade_rl.testing import check_domain, write_pack
from cascade_rl.testing.domain_kit import CHECKS

PACKS = Path(__file__).parent / "broken_packs"
BROKEN = sorted(p.stem for p in PACKS.glob("*.py") if p.stem != "good_pack")
LIMITS = {"timeout_s": 1.0, "memory_mb": 64.0}


@pytest.fixture
def install(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    shutil.copy(PACKS / "good_pack.py", tmp_path)

    def install(name: str) -> None:
        write_pack(tmp_path, name, (PACKS / f"{name}.py").read_text(), distribution="planted")

    yield install
    for module in [m for m in sys.modules if m.startswith(("planted_", "good_pack"))]:
        del sys.modules[module]


def test_every_check_has_a_pack_that_it_catches():
    assert set(BROKEN) == set(CHECKS)


def test_the_good_pack_passes_every_check(install):
    install("good_pack")
    report = check_domain("good_pack", **LIMITS)
    assert {r.check: r.outcome for r in report.results} == dict.fromkeys(CHECKS, "ok")


@pytest.mark.parametrize("name", BROKEN)
def test_a_planted_fault_is_caught_by_its_check_alone(install, name):
    install(name)
    report = check_domain(name, **LIMITS)
    assert report.failed == [name], report.text()
    (result,) = [r for r in report.results if r.check == name]
    assert result.rerun == f"cascade check {name} --only {name}"
    for finding in result.findings:
        assert finding.given
        assert finding.got
        assert finding.expected
