"""The pages under docs/: every hook has one, generated ones are current, every snippet runs."""

from __future__ import annotations

import ast
import inspect
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cascade_rl.cli import BUILT_IN, build_app
from cascade_rl.config import check, load_config, trace
from cascade_rl.hooks import DomainSpec, ModifierSpec
from cascade_rl.registry import Registry
from cascade_rl.replay.rescore import Change

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
HOOKS = {
    name: function
    for spec in (DomainSpec, ModifierSpec)
    for name, function in vars(spec).items()
    if hasattr(function, "cascade_rl_spec")
}


def blocks(page: Path, language: str) -> list[tuple[str, str]]:
    """(what follows the language, the text) of each fenced block."""
    return re.findall(rf"^```{language}( [^\n]*)?\n(.*?)^```$", page.read_text(), re.M | re.S)


def signature(name: str, function) -> str:
    found = inspect.signature(function)
    taken = [f"{p.name}: {p.annotation}" for p in found.parameters.values() if p.name != "self"]
    return f"{name}({', '.join(taken)}) -> {found.return_annotation}"


def test_every_hook_has_a_page_and_every_page_a_hook():
    assert {p.stem for p in (DOCS / "hooks").glob("*.md")} == {*HOOKS, "index"}


@pytest.mark.parametrize("name", HOOKS)
def test_the_page_of_a_hook_has_its_exact_signature_and_an_example(name):
    page = DOCS / "hooks" / f"{name}.md"
    (_, first), *_ = blocks(page, "text")
    assert " ".join(first.split()) == signature(name, HOOKS[name])
    assert "@hookimpl" in "".join(text for _, text in blocks(page, "python"))
    assert f"({name}.md)" in (DOCS / "hooks" / "index.md").read_text() or name == "modify"


@pytest.mark.parametrize("script", ["make_cli_reference", "make_check_reference"])
def test_a_generated_page_is_current(script):
    module = runpy.run_path(str(ROOT / "scripts" / f"{script}.py"))
    assert module["page"]() == module["TARGET"].read_text(), f"run scripts/{script}.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": f"docs_{page.stem}"}
    for title, text in blocks(page, "python"):
        if "synopsis" in title:  # a list of calls, not a program
            compile(text, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            text = "\n".join(re.findall(r"^(?:from|import) .*", text, re.M))
        if "title=" not in title:  # a file: the tutorial's test writes and uses it
            exec(compile(text, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_yaml_blocks_are_what_they_look_like(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-model").mkdir()
    (tmp_path / "my-model" / "config.json").write_text('{"max_position_embeddings": 65536}')
    for _, text in blocks(page, "yaml"):
        data = yaml.safe_load(text)
        if isinstance(data, dict) and {"name", "model", "stages"} <= data.keys():
            Path("cascade.yaml").write_text(text)
            registry = Registry()
            found = check(trace(*load_config("cascade.yaml"), registry), registry)
            assert [str(f) for f in found if f.kind == "wrong"] == []
        elif page.stem == "rescore":
            Change.model_validate(data)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_commands_exist_with_these_options(page):
    for _, text in blocks(page, "sh"):
        for line in text.splitlines():
            if line.startswith("cascade "):
                _, verb, *words = shlex.split(line)
                known = verb_options(verb)
                assert {w for w in words if w.startswith("-")} <= known, line


def verb_options(verb: str) -> set[str]:
    from typer.main import get_command

    command = get_command(build_app(verb)).commands[verb]
    return {flag for parameter in command.params for flag in parameter.opts}


@pytest.mark.parametrize("verb", sorted(BUILT_IN))
def test_every_verb_says_what_it_exits_with(verb):
    function, epilog = BUILT_IN[verb]
    said = f"{function.__doc__} {epilog or ''}"
    assert "Exit codes:" in said or verb == "serve"


def test_links_between_pages_lead_somewhere():
    lost = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if "://" not in target and not (page.parent / target).exists():
                lost.append(f"{page.relative_to(ROOT)}: {target}")
    assert lost == []


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert sorted(listed) == sorted(str(p.relative_to(DOCS)) for p in PAGES)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("zensical", reason="the docs generator is in the dev extra")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(DOCS, tmp_path / "docs")
    done = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--strict", "-f", "mkdocs.yml"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    html = (tmp_path / "build" / "docs" / "index.html").read_text()
    assert not re.search(r'(?:src|rel="stylesheet" href)="https?://', html)
