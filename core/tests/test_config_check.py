"""The findings of ``cascade plan``: what is wrong, unverified here, or worth a look."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cascade_rl.config.check import check
from cascade_rl.config.load import load_config
from cascade_rl.config.resolve import trace
from cascade_rl.registry import Registry

TEXT = """\
name: x
model: {build: {}}
backend: toy
stages:
  - name: a
    domain: haiku
    steps: 10
    batch_size: 8
evaluation: {prompts: 10}
"""
SFT = TEXT.replace("    domain: haiku\n", "    kind: sft\n    domains: [haiku]\n")


_MODIFIER = """
from cascade_rl import hookimpl

@hookimpl
def modify(completion):
    return 0.0
"""


@pytest.fixture(autouse=True)
def packs(toy_packs, make_pack, tmp_path, monkeypatch) -> None:
    make_pack("toy", "", "fake-back", "1.0", "cascade_rl.backends")
    make_pack("length", _MODIFIER, "fake-length", "1.0", "cascade_rl.modifiers")
    monkeypatch.chdir(tmp_path)


def findings(*overrides: str, text: str = TEXT, backend: str | None = None) -> list[str]:
    Path("c.yaml").write_text(text)
    source, config = load_config("c.yaml", overrides)
    registry = Registry([str(Path("site-packages").resolve())])  # these packs and no others
    found = check(trace(source, config, registry), registry, backend)
    return [f"{finding.kind}: {finding}" for finding in found]


@pytest.mark.parametrize("text", [TEXT, SFT])
def test_a_right_cascade_has_no_findings(text):
    assert findings(text=text) == []


ROW = "c.yaml:6: stages.a.domain"


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (
            "stages.a.options.style=older",
            [("wrong: --set: stages.a.options.style: Input should be 'old' or 'new' (got 'older'), "
             "says the pack 'haiku'")],
        ),
        (
            "stages.a.options.cuont=3",
            [("wrong: --set: stages.a.options.cuont: no such option; did you mean 'count'? (known: "
             "count, held_out, hub, lines, path, style, temperature_by_mode, words), says the "
             "pack 'haiku'")],
        ),
        (
            "domains.haiku.options={words: 1, lines: 2}",
            [("wrong: --set: domains.haiku.options: give words or lines, not both (got {'words': "
             "1, 'lines': 2}), says the pack 'haiku'")],
        ),
        (
            "stages.a.options.count=0",
            [f"wrong: {ROW}: domain 'haiku' has no prompts to train on with these options"],
        ),
        (
            "stages.a.options.count=7",
            [("wrong: c.yaml:8: stages.a.batch_size: batch_size is 8, but domain 'haiku' has 7 "
             "prompts, so a batch would hold a prompt twice; use at most 7")],
        ),
        (
            "stages.a.options.path=none.jsonl",
            [("wrong: --set: stages.a.options.path: domain 'haiku' from fake-haiku 1.0: hook "
             "'load_prompts' raised FileNotFoundError: [Errno 2] No such file or directory: "
             "'none.jsonl'")],
        ),
        (
            "stages.a.options.hub=org/name",
            [("unverified: --set: stages.a.options.hub: the data of 'haiku' is on a hub "
             "(org/name), which plan does not look up")],
        ),
        (
            "domains.haiku.options.held_out=4",
            [("warning: c.yaml:9: evaluation.prompts: domain 'haiku' has 4 held-out prompts of "
             "the 10 asked for")],
        ),
        (
            "stages.a.sampling.n=1",
            [("wrong: --set: stages.a.sampling.n: n is 1 (--set); a batch cannot form one group "
             "of fewer than 2 samples, as nothing could be compared")],
        ),
        (
            "stages.a.sampling.temperature=0",
            [("wrong: --set: stages.a.sampling.temperature: temperature is 0 (--set), so all 8 "
             "samples of a group would be equal; it must be above 0")],
        ),
        (
            "stages.a.budget.completion_tokens=250",
            [("wrong: --set: stages.a.budget.completion_tokens: prompt_tokens 20 (pack haiku 1.0) "
             "+ completion_tokens 250 (--set) = 270 tokens, beyond the model's context of 256 "
             "(model.build.context, default)")],
        ),
        (
            "stages.a.schedule.completion_tokens=[{step: 0, value: 50}, {step: 5, value: 240}]",
            [("wrong: --set: stages.a.schedule.completion_tokens[1]: prompt_tokens 20 (pack haiku "
             "1.0) + completion_tokens 240 (--set) = 260 tokens, beyond the model's context of "
             "256 (model.build.context, default)")],
        ),
        (
            "domains.haiku.budget.prompt_tokens=200",
            [("wrong: --set: domains.haiku.budget.prompt_tokens: prompt_tokens 200 (--set) + "
             "completion_tokens 60 (pack haiku 1.0) = 260 tokens, beyond the model's context of "
             "256 (model.build.context, default)")],
        ),
        (
            "stages.a.schedule.temperature=[{step: 5, value: 1}, {step: 5, value: 0.8}]",
            [("wrong: --set: stages.a.schedule.temperature[1].step: knots out of order: step 5 "
             "follows step 5")],
        ),
        (
            "stages.a.schedule.temperature=[{step: 0, value: 0}]",
            ["wrong: --set: stages.a.schedule.temperature[0].value: must be above 0, got 0"],
        ),
        (
            "stages.a.schedule.completion_tokens=[{step: 0, value: 10.5}]",
            [("wrong: --set: stages.a.schedule.completion_tokens[0].value: must be a whole number "
             "above 0, got 10.5")],
        ),
        (
            "stages.a.schedule.temperature=[{step: 10, value: 1}]",
            [("warning: --set: stages.a.schedule.temperature[0].step: step 10 is never reached: "
             "the stage has steps 0 to 9")],
        ),
        (
            "stages.a.gates=[{domain: ode, max_drop: 0.1}]",
            [("wrong: --set: stages.a.gates[0].domain: a gate on 'ode', which is not evaluated; "
             "evaluation.domains: haiku")],
        ),
        (
            "stages.a.modes={think: 0.7, no_think: 0.3}",
            [("wrong: --set: stages.a.modes: these shares cannot split batch_size 8 into whole "
             "prompts; batch_size must be a multiple of 10")],
        ),
        ("stages.a.modes={think: 1, no_think: 1}", []),
        ("stages.a.modes={think: 3, no_think: 1}", []),
        (
            "domains.haiku.options.temperature_by_mode=true",
            [(f"warning: {ROW}: the pack 'haiku' samples modes differently (temperature: none 1, "
             "think 0.5, no_think 1); this stage uses 1 for all, set sampling.temperature to "
             "choose")],
        ),
        (
            "stages.a.optimizer.warmup_steps=10",
            [("warning: --set: stages.a.optimizer.warmup_steps: 10 steps of warm-up, but the "
             "stage has 10: lr is never reached")],
        ),
        (
            "stages.a.advance={truncation_below: 0.1}",
            [("warning: --set: stages.a.advance.window: window is 10, but the stage has 10 steps: "
             "it never ends early")],
        ),
        (
            "stages.a.rewards=[{modifier: lenght}]",
            [("wrong: --set: stages.a.rewards[0].modifier: no modifier 'lenght' is installed; did "
             "you mean 'length'? Installed: length.")],
        ),
        (
            "stages.a.rewards=[{domain: haiku}, {domain: code}]",
            [("unverified: --set: stages.a.rewards[1].domain: no domain 'code' is installed. "
             "Installed: haiku, ode. Install it: pip install cascade-rl-code")],
        ),
        (
            "stages.a.rewards=[{domain: haiku, options: {style: older}}]",
            [("wrong: --set: stages.a.rewards[0].options.style: Input should be 'old' or 'new' "
             "(got 'older'), says the pack 'haiku'")],
        ),
        (
            "stages.a.domain=code",
            [("unverified: --set: stages.a.domain: no domain 'code' is installed. Installed: "
             "haiku, ode. Install it: pip install cascade-rl-code")],
        ),
        (
            "stages.a.domain=haikus",
            [("unverified: --set: stages.a.domain: no domain 'haikus' is installed; did you mean "
             "'haiku'? Installed: haiku, ode.")],
        ),
        (
            "backend=tory",
            [("wrong: --set: backend: no backend 'tory' is installed; did you mean 'toy'? "
             "Installed: toy")],
        ),
        (
            "evaluation.domains=[haiku, haiku]",
            ["wrong: --set: evaluation.domains[1]: 'haiku' is listed twice; remove one"],
        ),
        (
            "model.build.heads=3",
            [("wrong: c.yaml:2: model.build.hidden_size: must be a multiple of twice the heads "
             "(3), got 128"),
             "wrong: --set: model.build.heads: must be a multiple of kv_heads (2), got 3"],
        ),
    ],
)  # fmt: skip
def test_grpo(override, expected):
    assert findings(override) == expected


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (
            "stages.a.domains=[ode]",
            [("wrong: --set: stages.a.domains[0]: the pack 'ode' (fake-ode 2.1) has no "
             "load_demonstrations, so an sft stage cannot train on it")],
        ),
        (
            "domains.haiku.options.count=0",
            [("wrong: c.yaml:7: stages.a.domains[0]: domain 'haiku' has no demonstrations with "
             "these options")],
        ),
        (
            "domains.haiku.options.count=7",
            [("warning: c.yaml:9: stages.a.batch_size: batch_size is 8, but there are 7 "
             "demonstrations: they repeat within one batch")],
        ),
        (
            "domains.haiku.options.path=none.jsonl",
            [("wrong: --set: domains.haiku.options.path: domain 'haiku' from fake-haiku 1.0: hook "
             "'load_demonstrations' raised FileNotFoundError: [Errno 2] No such file or "
             "directory: 'none.jsonl'"),
             ("wrong: --set: domains.haiku.options.path: domain 'haiku' from fake-haiku 1.0: hook "
             "'load_prompts' raised FileNotFoundError: [Errno 2] No such file or directory: "
             "'none.jsonl'")],
        ),
        (
            "stages.a.options.count=3",
            [("wrong: --set: stages.a.options: an sft stage may train several packs, so it takes "
             "no options; put them under domains.haiku.options")],
        ),
        (
            "stages.a.sampling.n=1",
            ["warning: --set: stages.a.sampling: has no effect in an sft stage"],
        ),
        (
            "stages.a.filter={kind: epoch}",
            ["warning: --set: stages.a.filter: has no effect in an sft stage"],
        ),
        (
            "domains.haiku.budget.completion_tokens=240",
            [("wrong: --set: domains.haiku.budget.completion_tokens: prompt_tokens 20 (pack haiku "
             "1.0) + completion_tokens 240 (--set) = 260 tokens, beyond the model's context of "
             "256 (model.build.context, default)")],
        ),
    ],
)  # fmt: skip
def test_sft(override, expected):
    assert findings(override, text=SFT) == expected


def hold(folder: str, config: str | None) -> None:
    Path(folder).mkdir(parents=True)
    if config is not None:
        (Path(folder) / "config.json").write_text(config)


def test_a_models_folder_and_its_context():
    hold("m", json.dumps({"max_position_embeddings": 80}))
    assert findings("model={path: m}") == []
    hold("small", json.dumps({"n_positions": 64}))
    assert findings("model={path: small}") == [
        (
            f"wrong: {ROW}: prompt_tokens 20 (pack haiku 1.0) + completion_tokens 60 (pack haiku "
            "1.0) = 80 tokens, beyond the model's context of 64 (small/config.json)"
        )
    ]
    hold("silent", "{}")  # an unknown context is no fault
    assert findings("model={path: silent}") == []


def test_models_that_are_not_there():
    here = Path.cwd()
    hold("org2/model", None)
    hold("list", "[]")
    Path("file").write_text("x")
    reasons = {
        "org/name": "unverified: --set: model.path: 'org/name' is no folder here; taken as a hub "
        "id, which plan does not look up",
        "./org/name": f"wrong: --set: model.path: no folder './org/name' (from {here}), and no "
        "hub id of the form org/name",
        "org2/other": f"wrong: --set: model.path: no folder 'org2/other' (from {here}), and no "
        "hub id of the form org/name",
        "file": "wrong: --set: model.path: 'file' is a file; give the model's folder",
        "list": "wrong: --set: model.path: 'list' holds no readable config.json, so it is no "
        "model: it does not hold a JSON object",
    }
    for path, reason in reasons.items():
        assert findings(f"model={{path: {path}}}") == [reason]
    (found,) = findings("model={path: org2/model}")
    assert found.startswith("wrong: --set: model.path: 'org2/model' holds no readable config.json")


def test_gguf_files_and_packages(make_pack):
    here = Path.cwd()
    Path("m.gguf").write_bytes(b"GGUF0000")
    Path("n.gguf").write_bytes(b"zip")
    package = Path("site-packages/weights_inside")
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    assert findings("model={gguf: m.gguf}") == []
    assert findings("model={gguf: n.gguf}") == [
        "wrong: --set: model.gguf: 'n.gguf' is not a GGUF file"
    ]
    assert findings("model={gguf: o.gguf}") == [
        f"wrong: --set: model.gguf: no file 'o.gguf' (from {here})"
    ]
    assert findings("model={gguf: 'package:not_here_at_all'}") == [
        (
            "unverified: --set: model.gguf: the package 'not_here_at_all' is not installed here; "
            "install what contains it"
        )
    ]
    assert findings("model={gguf: 'package:weights_inside'}") == [
        (
            "wrong: --set: model.gguf: the package 'weights_inside' must hold one .gguf file, "
            "found none; give a path"
        )
    ]
    (package / "w.gguf").write_bytes(b"GGUF")
    assert findings("model={gguf: 'package:weights_inside'}") == []


def test_a_backend_of_the_trainer_that_is_not_installed_is_unverified():
    assert findings("backend=local") == [
        (
            "unverified: --set: backend: backend 'local' is not installed here: "
            "pip install cascade-rl-trainer"
        )
    ]
    assert findings(backend="nope") == [
        "wrong: --backend: no backend 'nope' is installed. Installed: toy"
    ]


def test_a_broken_pack_is_told_once_and_hides_nothing(make_pack):
    make_pack("torn", "raise ValueError('x')", "fake-torn")
    text = TEXT.replace(
        "evaluation:",
        "  - {name: b, domain: torn, steps: 1}\n  - {name: c, domain: torn, "
        "steps: 1, options: {a: 1}}\nevaluation:",
    )
    (broken, short) = findings("stages.a.batch_size=50", text=text)
    assert broken.startswith("wrong: c.yaml:9: stages.b.domain: domain 'torn' from fake-torn 1.0")
    assert "failed to import: ValueError: x" in broken
    assert short.startswith("wrong: --set: stages.a.batch_size: batch_size is 50")


def test_packs_load_offline_and_the_environment_is_put_back(make_pack, monkeypatch):
    source = Path("site-packages/fake_haiku_haiku.py").read_text()
    spy = source.replace(
        "    if options.path",
        "    import os\n    seen.append(os.environ['HF_HUB_OFFLINE'])\n    if options.path",
        1,
    )
    module = make_pack("spy", "seen = []\n" + spy, "fake-spy")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.delenv("HF_DATASETS_OFFLINE", raising=False)
    assert findings("stages.a.domain=spy") == []
    assert set(__import__(module).seen) == {"1"}
    assert os.environ["HF_HUB_OFFLINE"] == "0"
    assert "HF_DATASETS_OFFLINE" not in os.environ


def test_findings_come_by_kind_worst_first():
    kinds = [
        line.partition(":")[0]
        for line in findings(
            "stages.a.optimizer.warmup_steps=10",
            "model={path: org/name}",
            "stages.a.sampling.n=1",
            "stages.a.options.count=0",
        )
    ]
    assert kinds == ["wrong", "wrong", "unverified", "warning"]
