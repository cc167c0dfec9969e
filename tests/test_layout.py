"""The shape of the repository: what may be imported, what must be equal, what must not exist."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECTS = [ROOT / "core", *sorted((ROOT / "plugins").iterdir()), ROOT / "trainer"]
HEAVY = ("torch", "transformers", "sympy", "httpx", "fastapi", "datasets", "langdetect", "pyarrow")


def loaded_after(statement: str) -> tuple[float, set[str]]:
    """(CPU seconds, top-level modules) of a statement in a fresh interpreter."""
    script = (
        "import json, sys, time; t = time.process_time()\n"
        f"{statement}\n"
        "spent = time.process_time() - t\n"
        "print(json.dumps([spent, sorted({m.split('.')[0] for m in sys.modules})]))"
    )
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    seconds, modules = json.loads(out)
    return seconds, set(modules)


@pytest.mark.parametrize(
    "module",
    [
        "cascade_rl",
        "cascade_rl.cli",
        "cascade_rl_math",
        "cascade_rl_ifeval",
        "cascade_rl_trainer",
        "cascade_rl_trainer.commands.run",
        "cascade_rl_trainer.local.backend",
    ],
)
def test_importing_loads_nothing_heavy(module):
    _, modules = loaded_after(f"import {module}")
    assert modules.isdisjoint(HEAVY)


def test_importing_the_core_takes_under_300_ms_of_cpu():
    # CPU time, the best of three: what is measured is the work, not the machine's load.
    assert min(loaded_after("import cascade_rl")[0] for _ in range(3)) < 0.3


def test_all_distributions_have_one_version():
    versions = {
        p.name: tomllib.loads((p / "pyproject.toml").read_text())["project"]["version"]
        for p in PROJECTS
    }
    assert len(set(versions.values())) == 1, versions


def test_no_package_file_lies_where_it_would_shadow_the_standard_library():
    folders = [ROOT, ROOT / "plugins", *PROJECTS, *(p / "tests" for p in PROJECTS), ROOT / "tests"]
    assert [str(f) for f in folders if (f / "__init__.py").exists()] == []


def test_no_source_file_is_longer_than_500_lines():
    files = [f for p in PROJECTS for f in (p / "src").rglob("*.py")]
    assert {str(f.relative_to(ROOT)): n for f in files
            if (n := len(f.read_text().splitlines())) > 500} == {}  # fmt: skip
