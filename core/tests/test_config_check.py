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


@pytest.fixture(autouse=True)
def packs(toy_packs, make_pack, tmp_path, monkeypatch) -> None:
    make_pack("toy", "class Backend: pass\n", "fake-back", "1.0", "cascade_rl.backends", "Backend")
    monkeypatch.chdir(tmp_path)


def findings(*overrides: str, text: str = TEXT, backend: str | None = None) -> list[str]:
    Path("c.yaml").write_text(text)
    source, config = load_config("c.yaml", overrides)
    registry = Registry()
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
            ["wrong: --set: stages.a.options.style: Input should be 'old' or 'new' (got 'older'), "
             "says the pack 'haiku'"],
        ),
        (
            "stages.a.options.cuont=3",
            ["wrong: --set: stages.a.options.cuont: no such option; did you mean 'count'? (known: "
             "count, held_out, hub, lines, path, style, temperature_by_mode, words), says the "
             "pack 'haiku'"],
        ),
        (
            "domains.haiku.options={words: 1, lines: 2}",
            ["wrong: --set: domains.haiku.options: give words or lines, not both (got {'words': "
             "1, 'lines': 2}), says the pack 'haiku'"],
        ),
        (
            "stages.a.options.count=0",
            [f"wrong: {ROW}: domain 'haiku' has no prompts to train on with these options"],
        ),
        (
            "stages.a.options.count=7",
            ["wrong: c.yaml:8: stages.a.batch_size: batch_size is 8, but domain 'haiku' has 7 "
             "prompts, so a batch would hold a prompt twice; use at most 7"],
        ),
        (
            "stages.a.options.path=none.jsonl",
            ["wrong: --set: stages.a.options.path: domain 'haiku' from fake-haiku 1.0: hook "
             "'load_prompts' raised FileNotFoundError: [Errno 2] No such file or directory: "
             "'none.jsonl'"],
        ),
        (
            "stages.a.options.hub=org/name",
            ["unverified: --set: stages.a.options.hub: the data of 'haiku' is on a hub "
             "(org/name), which plan does not look up"],
        ),
        (
            "domains.haiku.options.held_out=4",
            ["warning: c.yaml:9: evaluation.prompts: domain 'haiku' has 4 held-out prompts of "
             "the 10 asked for"],
        ),
        (
            "stages.a.sampling.n=1",
            ["wrong: --set: stages.a.sampling.n: n is 1 (--set); a batch cannot form one group "
             "of fewer than 2 samples, as nothing could be compared"],
        ),
        (
            "stages.a.sampling.temperature=0",
            ["wrong: --set: stages.a.sampling.temperature: temperature is 0 (--set), so all 8 "
             "samples of a group would be equal; it must be above 0"],
        ),
        (
            "stages.a.budget.completion_tokens=250",
            ["wrong: --set: stages.a.budget.completion_tokens: prompt_tokens 20 (pack haiku 1.0) "
             "+ completion_tokens 250 (--set) = 270 tokens, beyond the model's context of 256 "
             "(model.build.context, default)"],
        ),
        (
            "stages.a.schedule.completion_tokens=[{step: 0, value: 50}, {step: 5, value: 240}]",
            ["wrong: --set: stages.a.schedule.completion_tokens[1]: prompt_tokens 20 (pack haiku "
             "1.0) + completion_tokens 240 (--set) = 260 tokens, beyond the model's context of "
             "256 (model.build.context, default)"],
        ),
        (
            "domains.haiku.budget.prompt_tokens=200",
            ["wrong: c.yaml:6: stages.a.domain: x"],
        ),
        (
            "stages.a.schedule.temperature=[{step: 5, value: 1}, {step: 5, value: 0.8}]",
            ["wrong: --set: stages.a.schedule.temperature[1].step: knots out of order: step 5 "
             "follows step 5"],
        ),
        (
            "stages.a.schedule.temperature=[{step: 0, value: 0}]",
            ["wrong: --set: stages.a.schedule.temperature[0].value: must be above 0, got 0"],
        ),
        (
            "stages.a.schedule.completion_tokens=[{step: 0, value: 10.5}]",
            ["wrong: --set: stages.a.schedule.completion_tokens[0].value: must be a whole number "
             "above 0, got 10.5"],
        ),
        (
            "stages.a.schedule.temperature=[{step: 10, value: 1}]",
            ["warning: --set: stages.a.schedule.temperature[0].step: step 10 is never reached: "
             "the stage has steps 0 to 9"],
        ),
        (
            "stages.a.gates=[{domain: ode, max_drop: 0.1}]",
            ["wrong: --set: stages.a.gates[0].domain: a gate on 'ode', which is not evaluated; "
             "evaluation.domains: haiku"],
        ),
        (
            "stages.a.modes={think: 0.7, no_think: 0.3}",
            ["wrong: --set: stages.a.modes: these shares cannot split batch_size 8 into whole "
             "prompts; batch_size must be a multiple of 10"],
        ),
        ("stages.a.modes={think: 1, no_think: 1}", []),
        ("stages.a.modes={think: 3, no_think: 1}", []),
        (
            "domains.haiku.options.temperature_by_mode=true",
            [f"warning: {ROW}: the pack 'haiku' samples modes differently (temperature: none 1, "
             "think 0.5, no_think 1); this stage uses 1 for all, set sampling.temperature to "
             "choose"],
        ),
        (
            "stages.a.optimizer.warmup_steps=10",
            ["warning: --set: stages.a.optimizer.warmup_steps: 10 steps of warm-up, but the "
             "stage has 10: lr is never reached"],
        ),
        (
            "stages.a.advance={truncation_below: 0.1}",
            ["warning: --set: stages.a.advance.window: window is 10, but the stage has 10 steps: "
             "it never ends early"],
        ),
        (
            "stages.a.rewards=[{modifier: lenght}]",
            ["wrong: --set: stages.a.rewards[0].modifier: no modifier 'lenght' is installed; did "
             "you mean 'length'? Installed: length."],
        ),
        (
            "stages.a.rewards=[{domain: haiku}, {domain: code}]",
            ["unverified: --set: stages.a.rewards[1].domain: no domain 'code' is installed. "
             "Installed: haiku, ifeval, math, ode. Install it: pip install cascade-rl-code"],
        ),
        (
            "stages.a.rewards=[{domain: haiku, options: {style: older}}]",
            ["wrong: --set: stages.a.rewards[0].options.style: x"],
        ),
        (
            "stages.a.domain=code",
            ["unverified: --set: stages.a.domain: no domain 'code' is installed. Installed: "
             "haiku, ifeval, math, ode. Install it: pip install cascade-rl-code"],
        ),
        (
            "stages.a.domain=haikus",
            ["unverified: --set: stages.a.domain: no domain 'haikus' is installed; did you mean "
             "'haiku'? Installed: haiku, ifeval, math, ode."],
        ),
        (
            "backend=tory",
            ["wrong: --set: backend: no backend 'tory' is installed; did you mean 'toy'? "
             "Installed: local, toy"],
        ),
        (
            "model.build.heads=3",
            ["wrong: c.yaml:2: model.build.hidden_size: must be a multiple of twice the heads "
             "(3), got 128",
             "wrong: --set: model.build.heads: must be a multiple of kv_heads (2), got 3"],
        ),
    ],
)  # fmt: skip
def test_grpo(override, expected):
    assert findings(override) == expected
