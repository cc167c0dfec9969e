"""Runs each distribution's own tests against its wheel, installed beside core's wheel only.

`make wheels`. What the tests import besides (pytest, hypothesis, the extras) is linked from this
environment; a sibling, or a library that nothing declares, is not there. What takes minutes
(sandboxes under attack, a Ray cluster) is left to its own target.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "ruff")


def main(names: list[str]) -> int:
    """Test the named distributions, or all; the number of those that fail."""
    environments = _environments()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder) / "wheels"
        wheels.mkdir()
        environments.build_wheels(wheels)
        for project in environments.PROJECTS:
            if not (project / "pyproject.toml").exists():
                continue
            name = tomllib.loads((project / "pyproject.toml").read_text())["project"]["name"]
            if not names or name in names:
                failed += _test(environments, Path(folder) / name, wheels, project, name)
    return failed


def _test(environments: ModuleType, folder: Path, wheels: Path, project: Path, name: str) -> bool:
    wanted = tuple(
        dict.fromkeys(["cascade-rl", f"{name}{_extras(project)}"][name == "cascade-rl" :])
    )
    env = environments.Environment.make(folder, wheels, wanted, beside=TOOLS)
    command = [folder / "bin" / "python", "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    quick = ["-m", "not slow", "--ignore-glob=*core/tests/test_sandbox_*"]
    done = subprocess.run([*command, *quick, project / "tests"], cwd=ROOT, env=env.variables())  # noqa: S603
    print(f"{name}: {'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    return done.returncode != 0


def _extras(project: Path) -> str:
    """The extras whose libraries are all installed here: tests of the others skip themselves."""
    data: dict[str, Any] = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    environments = _environments()
    usable = [
        extra
        for extra, lines in data.get("optional-dependencies", {}).items()
        if environments.all_installed(lines)
    ]
    return f"[{','.join(usable)}]" if usable else ""


def _environments() -> ModuleType:
    """The helper of the tests; tests/ is no package."""
    if "environments" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "environments", ROOT / "tests" / "environments.py"
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules["environments"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["environments"])
    return sys.modules["environments"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
