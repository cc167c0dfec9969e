"""`cascade new`: complete, honest about what it cannot do, and untouched by its own checks."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from cascade_rl.cli import main

KINDS = {"haiku": (), "tidy_code": ("--class",), "loud": ("--modifier",)}


@pytest.fixture
def new(tmp_path, capsys):
    def run(*arguments):
        try:
            main(["new", *arguments, "--to", str(tmp_path)])
        except SystemExit as end:
            captured = capsys.readouterr()
            return end.code, captured.out, captured.err
        raise AssertionError

    return run


@pytest.mark.parametrize("name", KINDS)
def test_nothing_is_left_to_fill_in(new, tmp_path, name):
    code, out, _ = new(name, *KINDS[name])
    assert code == 0
    assert f"cascade check {name}" in out.splitlines()[-1]
    root = tmp_path / f"cascade-rl-{name.replace('_', '-')}"
    files = {str(f.relative_to(root)) for f in root.rglob("*") if f.is_file()}
    assert files >= {
        ".github/workflows/publish.yml",
        ".github/workflows/test.yml",
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "pyproject.toml",
        f"src/cascade_rl_{name}/__init__.py",
        f"src/cascade_rl_{name}/py.typed",
        f"tests/test_{name}.py",
    }
    for file in files:
        text = (root / file).read_text()
        assert "@name@" not in text
        assert "@module@" not in text
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == ["cascade-rl>=0.1,<0.2"]
    test = (root / "tests" / f"test_{name}.py").read_text()
    assert len([line for line in test.splitlines() if line.strip()]) == 3


@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_is_clean(new, tmp_path, name):
    new(name, *KINDS[name])
    folder = tmp_path / f"cascade-rl-{name.replace('_', '-')}"
    ruff = [sys.executable, "-m", "ruff", "--version"]
    if subprocess.run(ruff, capture_output=True).returncode:
        pytest.skip("ruff is not installed here")
    for command in (["check", "--select", "E,F,I,B,UP,N"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--isolated", "--line-length", "100",
             "--config", "lint.isort.known-first-party=['cascade_rl', 'cascade_rl_*']", folder],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["Haiku", "2fast", "a-b", "a__b", "_a", "class", "", "ha iku"])
def test_a_name_that_cannot_be_is_refused(new, name):
    code, _, err = new(name)
    assert code == 2
    assert f"{name!r} cannot be a name" in err


def test_a_name_that_is_taken_or_a_folder_that_exists_is_refused(new, make_pack, tmp_path):
    make_pack("haiku", "", distribution="other-haiku")
    code, _, err = new("haiku")
    assert code == 2
    assert "a domain 'haiku' is installed already (other-haiku 1.0)" in err
    (tmp_path / "cascade-rl-loud").mkdir()
    code, _, err = new("loud")
    assert code == 2
    assert "cascade-rl-loud exists; delete it, or choose another name or --to FOLDER" in err


def test_a_class_and_a_modifier_at_once_are_refused(new):
    code, _, err = new("haiku", "--class", "--modifier")
    assert code == 2
    assert "--class and --modifier exclude each other" in " ".join(err.split())


@pytest.mark.parametrize("name", KINDS)
def test_it_passes_its_own_checks_unedited(new, tmp_path, monkeypatch, name):
    from cascade_rl.testing import check_domain, check_modifier

    new(name, *KINDS[name])
    root = tmp_path / f"cascade-rl-{name.replace('_', '-')}"
    announce(root, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(root / "src"))
    report = (check_modifier if name == "loud" else check_domain)(name)
    sys.modules.pop(f"cascade_rl_{name}", None)
    skipped = [r.check for r in report.results if r.outcome != "ok"]
    assert skipped == ([] if name == "loud" else ["groups"]), report.text()


def announce(root, site):
    """The metadata that an install would write, from the pack's own pyproject.toml."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    info = site / "written-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n"
    )
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
