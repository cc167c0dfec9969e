"""Environments that hold a few wheels and what these declare, and nothing else.

The wheels are installed by pip. What they depend on is not downloaded again: it is linked from
the running environment, distribution by distribution, along the declared requirements. So an
undeclared dependency, or a sibling, cannot be imported there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
OUTSIDE = ROOT / "tests" / "third_party" / "acme-countdown"
PROJECTS = [ROOT / "core", *sorted((ROOT / "plugins").iterdir()), ROOT / "trainer"]
OURS = re.compile(r"cascade[-_]rl")


def build_wheels(target: Path) -> Path:
    """Build all of ours and the outside pack with the backends that are installed here."""
    for project in (p for p in PROJECTS if (p / "pyproject.toml").exists()):
        run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target, cwd=project)
    copy = target / "outside"
    run("cp", "-r", OUTSIDE, copy)  # setuptools writes beside the source
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
        "-w", target, copy)  # fmt: skip
    return target


def run(*command: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """The standard output of a command that must succeed."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@dataclass(frozen=True)
class Environment:
    """A virtual environment without pip."""

    folder: Path

    @classmethod
    def make(
        cls, folder: Path, wheels: Path, names: tuple[str, ...], beside: tuple[str, ...] = ()
    ) -> Environment:
        """``names``: distributions with a wheel in ``wheels``, extras allowed ("a[b]").

        ``beside``: what the tests need and the wheels do not declare, such as pytest.
        """
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        made = cls(folder)
        wanted = [Requirement(name) for name in names]
        chosen = [_wheel(wheels, requirement.name) for requirement in wanted]
        pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python")
        run(*pip, "install", "-q", "--no-deps", "--no-index", "--no-compile", *chosen)
        needed = [r for w, n in zip(chosen, wanted, strict=True) for r in _requires(w, n.extras)]
        made._link([*needed, *map(Requirement, beside)])
        return made

    @property
    def site(self) -> Path:
        """Where its packages lie."""
        return next(self.folder.glob("lib/python*/site-packages"))

    def variables(self) -> dict[str, str]:
        """A bare environment: its programs first, no user site, no PYTHONPATH."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
        return env | {"PATH": f"{self.folder / 'bin'}:{env['PATH']}", "PYTHONNOUSERSITE": "1"}

    def run(self, *command: object, cwd: Path | None = None, **variables: str) -> str:
        """Run one of its programs in that environment; it must succeed."""
        program = self.folder / "bin" / str(command[0])
        env = self.variables() | variables
        return run(program, *command[1:], cwd=cwd or self.folder, env=env)

    def _link(self, todo: list[Requirement]) -> None:
        seen: set[tuple[str, str]] = set()
        while todo:
            requirement = todo.pop()
            if OURS.match(requirement.name):
                continue  # only as a wheel
            for extra in ("", *requirement.extras):
                if (requirement.name, extra) in seen:
                    continue
                seen.add((requirement.name, extra))
                try:
                    found = distribution(requirement.name)
                except PackageNotFoundError as error:
                    raise AssertionError(f"{requirement} is declared and not installed") from error
                if not extra:
                    _link_files(found, self.site)
                todo += _applying(found.requires or [], extra)


def all_installed(lines: list[str]) -> bool:
    """Whether all these requirements are installed here (whatever their versions)."""
    try:
        for line in lines:
            distribution(Requirement(line).name)
    except PackageNotFoundError:
        return False
    return True


def _wheel(wheels: Path, name: str) -> Path:
    plain = re.sub(r"[-.]+", "_", name)
    (found,) = wheels.glob(f"{plain}-*.whl")
    return found


def _requires(wheel: Path, extras: set[str]) -> list[Requirement]:
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    lines = metadata.get_all("Requires-Dist") or []
    return [r for extra in ("", *extras) for r in _applying(lines, extra)]


def _applying(lines: list[str], extra: str) -> list[Requirement]:
    """The requirements of an extra ("": those that always hold) on this machine."""
    parsed = [Requirement(line) for line in lines]
    always = [r for r in parsed if not r.marker or r.marker.evaluate({"extra": ""})]
    if not extra:
        return always
    return [
        r for r in parsed if r.marker and r not in always and r.marker.evaluate({"extra": extra})
    ]


def _link_files(found: Distribution, site: Path) -> None:
    tops = {
        file.parts[0] for file in found.files or [] if file.parts[0] not in ("..", "__pycache__")
    }
    for top in tops:
        link, source = site / top, Path(str(found.locate_file(top)))
        if not link.exists() and not link.is_symlink() and source.exists():
            link.symlink_to(source)
