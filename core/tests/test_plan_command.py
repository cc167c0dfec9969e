"""``cascade plan`` as a user meets it: text, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from cascade_rl.cli.plan import plan

TEXT = """\
name: x
model: {build: {}}
backend: toy
domains:
  haiku: {options: {words: 5}}
stages:
  - name: warm
    kind: sft
    steps: 1200
    domains: [haiku]
    batch_size: 8
  - name: a
    domain: haiku
    steps: 10
    batch_size: 8
    schedule: {temperature: [{step: 0, value: 1.0}, {step: 5, value: 0.8}]}
evaluation: {prompts: 10}
"""
BACKEND = """
class Backend:
    def plan(self, cascade):
        return f"{len(cascade.stages)} stages on toy\\n"

class Silent:
    pass
"""


@pytest.fixture(autouse=True)
def packs(toy_packs, make_pack, tmp_path, monkeypatch) -> None:
    group = "cascade_rl.backends"
    make_pack("toy", BACKEND, "fake-back", "1.0", group, "Backend")
    make_pack("silent", BACKEND, "fake-back", "1.0", group, "Silent")
    make_pack("torn", "1/0", "fake-back", "1.0", group, "Backend")
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(TEXT)


def run(*arguments: str, text: str | None = None):
    if text is not None:
        Path("c.yaml").write_text(text)
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(plan)
    result = CliRunner().invoke(app, list(arguments or ["c.yaml"]))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_every_value_with_its_origin_in_aligned_columns():
    result = run("c.yaml", "--set", "stages.a.sampling.n=4")
    assert result.exit_code == 0
    lines = iter(result.stdout.splitlines())
    for line in EXPECTED.splitlines():
        assert line in lines  # consumes: the expected lines come in this order
    assert max(map(len, result.stdout.splitlines())) <= 100


EXPECTED = """\
cascade x  (c.yaml)
  model.build.hidden_size        128          default
  seed                           0            default
  output                         runs/{name}  default
  backend                        toy          c.yaml:3

stage 1 of 2: warm  (sft on haiku)
  steps                          1200         c.yaml:9
  domains                        [haiku]      c.yaml:10
  optimizer.betas                [0.9, 0.95]  default
  haiku 1.0
    options.words                5            c.yaml:5
    options.temperature_by_mode  false        pack haiku 1.0
    budget.overlong              mask         pack haiku 1.0

stage 2 of 2: a  (grpo on haiku)
  steps                          10                                    c.yaml:14
  domain                         haiku                                 c.yaml:13
  optimizer.lr                   2e-06                                 default
  rewards                        none                                  default
  schedule.temperature           [{step: 0, value: 1.0}, {step: 5, value: 0.8}]  c.yaml:16
  haiku 1.0
    options.count                40                                    pack haiku 1.0
    sampling.temperature         1.0                                   pack haiku 1.0
    sampling.n                   4                                     --set

evaluation of haiku, before and after every stage
  prompts                        10     c.yaml:17
  haiku 1.0
    budget.completion_tokens     60     pack haiku 1.0
    budget.overlong              keep   evaluation
    sampling.n                   4      default

2 stages, 1,210 steps: 0 wrong, 0 unverified here, 0 warnings
"""


@pytest.mark.parametrize(
    ("arguments", "code", "last"),
    [
        ([], 0, "2 stages, 1,210 steps: 0 wrong, 0 unverified here, 0 warnings"),
        (["--strict"], 0, "2 stages, 1,210 steps: 0 wrong, 0 unverified here, 0 warnings"),
        (
            ["--set", "model={path: org/name}"],
            0,
            "2 stages, 1,210 steps: 0 wrong, 1 unverified here, 0 warnings",
        ),
        (
            ["--set", "model={path: org/name}", "--strict"],
            1,
            "2 stages, 1,210 steps: 0 wrong, 1 unverified here, 0 warnings",
        ),
        (
            ["--set", "stages.a.sampling.n=1"],
            1,
            "2 stages, 1,210 steps: 1 wrong, 0 unverified here, 0 warnings",
        ),
        (
            ["--set", "stages.a.optimizer.warmup_steps=10", "--strict"],
            0,
            "2 stages, 1,210 steps: 0 wrong, 0 unverified here, 1 warning",
        ),
        (["--set", "sead=1"], 1, "1 wrong, 0 unverified here, 0 warnings"),
        (["--set", "stages.b.steps=1"], 1, "1 wrong, 0 unverified here, 0 warnings"),
        (["--set", "seed"], 1, "1 wrong, 0 unverified here, 0 warnings"),
        (["--backend", "nope"], 1, "2 stages, 1,210 steps: 1 wrong, 0 unverified here, 0 warnings"),
    ],
)
def test_exit_codes_and_the_last_line(arguments, code, last):
    result = run("c.yaml", *arguments)
    assert result.exit_code == code
    assert result.stdout.splitlines()[-1] == last


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "error: c.yaml: cannot be read: No such file or directory\n"),
        ("a: [", None),
        ("", "error: c.yaml: the file is empty; a cascade needs name, model and stages\n"),
    ],
)
def test_an_unreadable_file_is_exit_2_and_says_so_on_stderr(content, message):
    Path("c.yaml").unlink()
    result = run("c.yaml", text=content)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message is None or result.stderr == message
    as_json = run("c.yaml", "--json")
    assert as_json.exit_code == 2
    assert json.loads(as_json.stdout)["ok"] is False


def test_findings_are_wrapped_under_their_kind():
    result = run("c.yaml", "--set", "stages.b.steps=1", "--set", "seed")
    assert result.stdout == (
        "wrong:      --set: stages.b.steps: no stage 'b'. Stages: warm, a\n"
        "wrong:      --set: 'seed': must be KEY=VALUE, such as seed=3, stages.math.steps=80 or\n"
        "            stages[1].steps=80\n\n"
        "2 wrong, 0 unverified here, 0 warnings\n"
    )
    result = run("c.yaml", "--set", "stages.a.stepz=1")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("wrong:      --set: stages.a.stepz: unknown key 'stepz'; did you")
    assert all(len(line) <= 100 for line in lines)
    assert all(line.startswith(" " * 12) for line in lines[1:-2])


def test_a_missing_pack_is_listed_and_the_rest_is_shown():
    result = run("c.yaml", "--set", "stages.a.domain=swe")
    assert result.exit_code == 0
    assert "  swe (the pack's defaults are not known here, see below)\n" in result.stdout
    assert "unverified: --set: stages.a.domain: no domain 'swe' is installed." in result.stdout
    assert "pip install cascade-rl-swe" in result.stdout


def test_a_name_that_was_typed_is_never_offered_for_installation():
    result = run("c.yaml", "--set", "stages.a.domain=maths-pro")
    assert "pip install" not in result.stdout


def test_backends():
    assert "\n2 stages on toy\n\n2 stages, 1,210" in run("c.yaml", "--backend", "toy").stdout
    assert (
        "backend silent: has nothing more to show\n" in run("c.yaml", "--backend", "silent").stdout
    )
    assert "stages on toy" not in run("c.yaml").stdout  # only asked for by name
    result = run("c.yaml", "--backend", "toy", "--set", "stages.a.sampling.n=1")
    assert "backend toy: not asked before everything that is wrong is right" in result.stdout
    result = run("c.yaml", "--backend", "toy", "--set", "stages.a.domain=swe")
    assert result.exit_code == 0  # a pack that is not here stops no plan
    assert "\n2 stages on toy\n" in result.stdout
    result = run("c.yaml", "--backend", "torn")
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.stdout


def test_json():
    result = run("c.yaml", "--json", "--set", "stages.a.optimizer.warmup_steps=10")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["ok"] is True
    assert report["values"]["seed"] == {"value": 0, "origin": "default"}
    warm, a = report["stages"]
    assert (warm["name"], warm["kind"]) == ("warm", "sft")
    assert a["values"]["steps"] == {"value": 10, "origin": "c.yaml:14"}
    assert a["values"]["schedule.temperature"]["value"][1] == {"step": 5, "value": 0.8}
    assert a["domains"][0]["name"] == "haiku"
    assert a["domains"][0]["version"] == "1.0"
    assert a["domains"][0]["values"]["options.words"] == {"value": 5, "origin": "c.yaml:5"}
    assert report["evaluation"][0]["values"]["budget.overlong"]["value"] == "keep"
    assert [finding["kind"] for finding in report["findings"]] == ["warning"]
    wrong = run("c.yaml", "--json", "--set", "seed=-1")
    assert wrong.exit_code == 1
    assert json.loads(wrong.stdout) == {
        "file": "c.yaml",
        "ok": False,
        "findings": [
            {
                "kind": "wrong",
                "where": "--set",
                "key": "seed",
                "text": "must be a whole number of at least 0, got -1",
            }
        ],
    }


def test_control_characters_in_a_value_do_not_reach_the_terminal():
    result = run("c.yaml", "--set", 'output="a\\e[31mb"')
    assert "\x1b" not in result.stdout
    assert "'a\\x1b[31mb'" in result.stdout


def test_help_says_what_there_is():
    result = run("--help")
    for word in ("--set", "--strict", "--backend", "--json", "Exit codes", "CASCADE.yaml"):
        assert word in result.stdout
