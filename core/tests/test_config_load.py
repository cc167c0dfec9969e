"""Likely mistakes in a cascade file, and the exact words for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from cascade_rl.config.load import load_config, validate
from cascade_rl.config.overrides import apply_overrides
from cascade_rl.config.schema import CascadeConfig
from cascade_rl.config.source import read_source
from cascade_rl.errors import ConfigError

BASE = """\
name: x
model: {build: {}}
stages:
  - name: a
    domain: math
    steps: 10
"""
STAGE_KEYS = (
    "name, kind, steps, domain, domains, batch_size, micro_batch, optimizer, options, budget, "
    "sampling, modes, rewards, filter, schedule, advance, gates, masked_in_group, no_signal, "
    "max_unscored, verl"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def problems(text: str, *overrides: str) -> list[str]:
    Path("c.yaml").write_text(text)
    config, found = validate(apply_overrides(read_source("c.yaml"), overrides))
    assert (config is None) == bool(found)
    return [str(finding) for finding in found]


def test_a_right_file_has_no_problems():
    assert problems(BASE) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "stepz: 80",
            f"stages.a.stepz: unknown key 'stepz'; did you mean 'steps'? Allowed: {STAGE_KEYS}",
        ),
        (
            "temperature: 0.8",
            (
                "stages.a.temperature: unknown key 'temperature'; did you mean "
                f"'sampling.temperature' or 'schedule.temperature'? Allowed: {STAGE_KEYS}"
            ),
        ),
        (
            "lr: 1e-6",
            f"stages.a.lr: unknown key 'lr'; did you mean 'optimizer.lr'? Allowed: {STAGE_KEYS}",
        ),
        (
            "xqzw: 1",
            f"stages.a.xqzw: unknown key 'xqzw'. Allowed: {STAGE_KEYS}",
        ),
        (
            "budget: {tokens: 3}",
            (
                "stages.a.budget.tokens: unknown key 'tokens'; did you mean 'prompt_tokens'? "
                "Allowed: prompt_tokens, completion_tokens, overlong"
            ),
        ),
        (
            "budget: {overlong: msk}",
            (
                "stages.a.budget.overlong: must be one of mask, zero, keep, got 'msk'; "
                "did you mean 'mask'?"
            ),
        ),
        (
            "budget: {completion_tokens: -1}",
            "stages.a.budget.completion_tokens: must be a whole number above 0, got -1",
        ),
        ("batch_size: many", "stages.a.batch_size: must be a whole number above 0, got 'many'"),
        ("batch_size: 8.5", "stages.a.batch_size: must be a whole number above 0, got 8.5"),
        ("batch_size: true", "stages.a.batch_size: must be a whole number above 0, got true"),
        (
            "batch_size:",
            (
                "stages.a.batch_size: must be a whole number above 0, got nothing; fill it in, or "
                "remove the key"
            ),
        ),
        (
            "budget:",
            (
                "stages.a.budget: must be a section with keys among prompt_tokens, "
                "completion_tokens, overlong, got nothing; fill it in, or remove the key"
            ),
        ),
        ("sampling: {top_p: 1.5}", None),
        (
            "max_unscored: 2",
            "stages.a.max_unscored: must be a number from 0 to 1, got 2",
        ),
        ("no_signal: [stop]", "stages.a.no_signal: must be one of skip, stop, got ['stop']"),
        (
            "modes: {thnk: 1}",
            (
                "stages.a.modes.thnk: unknown key 'thnk'; did you mean 'think'? "
                "Allowed: think, no_think, none"
            ),
        ),
        ("modes: {think: 0}", "stages.a.modes.think: must be a number above 0, got 0"),
        (
            "optimizer: {betas: [0.9]}",
            "stages.a.optimizer.betas[1]: is missing; must be a number from 0 to 1",
        ),
        (
            "optimizer: {betas: [1, 2, 3]}",
            (
                "stages.a.optimizer.betas: must be a list of 2 values, each a number from 0 to 1, "
                "got [1, 2, 3]"
            ),
        ),
        (
            "rewards: [{weight: 1}]",
            "stages.a.rewards[0]: a reward term names either a `domain` or a `modifier`",
        ),
        (
            "rewards: []",
            "stages.a: `rewards` needs at least one term (leave it out for the domain's score)",
        ),
        (
            "domains: [math]",
            "stages.a: a grpo stage takes one `domain`, not `domains`",
        ),
        (
            "advance: {}",
            "stages.a.advance.truncation_below: is missing; must be a number from 0 to 1",
        ),
        (
            "schedule: {temperature: [{step: 0, value: hot}]}",
            "stages.a.schedule.temperature[0].value: must be a number of at least 0, got 'hot'",
        ),
        (
            "filter: epoch",
            (
                "stages.a.filter: must be a section with keys among kind, return_hard, "
                "return_easy, max_retries, got 'epoch'"
            ),
        ),
    ],
)
def test_a_mistake_in_a_stage(line, message):
    found = problems(f"{BASE}    {line}\n")
    assert len(found) == 1
    if message is not None:
        own_line = not message.startswith("stages.a: ")
        assert found == [f"c.yaml:{7 if own_line else 4}: {message}"]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            BASE.replace("steps: 10", "kind: sft\n    steps: 1"),
            ["c.yaml:4: stages.a: an sft stage needs `domains`, a list of at least one"],
        ),
        (
            BASE.replace("    domain: math\n", ""),
            ["c.yaml:4: stages.a: a grpo stage needs `domain`"],
        ),
        (
            BASE.replace("domain: math", "domain: 7"),
            ["c.yaml:5: stages.a.domain: must be text, got 7; put it in quotes"],
        ),
        (
            BASE.replace("    steps: 10\n", ""),
            ["c.yaml:4: stages.a.steps: is missing; must be a whole number above 0"],
        ),
        (
            BASE.replace("name: a", "name: a b"),
            [
                (
                    "c.yaml:4: stages[0].name: must be a name of letters, digits, '_', '-' and '.' "
                    "that starts with a letter or digit, got 'a b'"
                )
            ],
        ),
        (
            BASE.replace("name: a", "name: before"),
            ["c.yaml:1: 'before' is the matrix's first row and cannot name a stage"],
        ),
        (
            BASE + "  - {name: a, domain: math, steps: 1}\n",
            ["c.yaml:1: stage names must be unique; twice: a"],
        ),
        (
            BASE.replace("{build: {}}", "{build: {}, path: m}"),
            ["c.yaml:2: model: give exactly one of path, build, gguf; got ['path', 'build']"],
        ),
        (
            BASE.replace("model: {build: {}}\n", ""),
            [
                (
                    "c.yaml:1: model: is missing; must be a section with keys among path, build, "
                    "gguf, lora, chat_template"
                )
            ],
        ),
        ("name: x\nmodel: {build: {}}\nstages: []\n", None),
        (
            BASE + "seed: 1.5\nsead: 2\n",
            [
                "c.yaml:7: seed: must be a whole number of at least 0, got 1.5",
                (
                    "c.yaml:8: sead: unknown key 'sead'; did you mean 'seed'? Allowed: name, "
                    "stages, model, seed, output, backend, device, threads, checkpoint_every, "
                    "workers, reward_timeout_s, reward_memory_mb, reward_cache, reward_ray, "
                    "domains, evaluation, verl"
                ),
            ],
        ),
        (
            BASE + "domains: {math: {option: {}}}\n",
            [
                (
                    "c.yaml:7: domains.math.option: unknown key 'option'; did you mean 'options'? "
                    "Allowed: options, budget, sampling"
                )
            ],
        ),
        (
            BASE + "workers: 0\nreward_memory_mb: 500\n",
            ["c.yaml:1: reward_memory_mb needs worker processes: set `workers` to 1 or more"],
        ),
        (
            BASE + "workers: 0\nreward_ray: auto\n",
            ["c.yaml:1: reward_ray needs worker processes: set `workers` to 1 or more"],
        ),
        (
            BASE + "evaluation: {domains: math}\n",
            ["c.yaml:7: evaluation.domains: must be a list, each entry text, got 'math'"],
        ),
        ("name: x\nmodel: {build: {}}\nstages: {a: {}}\n", None),
        ("name: x\nmodel: {build: {}}\nstages: [a]\n", None),
    ],
)
def test_a_mistake_elsewhere(text, messages):
    found = problems(text)
    assert len(found) == (len(messages) if messages else 1)
    assert messages is None or found == messages


def test_sft_domains_that_are_neither_list_nor_weights():
    text = BASE.replace("domain: math", "kind: sft\n    domains: math")
    assert problems(text) == [
        (
            "c.yaml:6: stages.a.domains: must be a mapping of name to a number above 0, or a list, "
            "each entry text, got 'math'"
        )
    ]


@pytest.mark.parametrize(
    ("domains", "message"),
    [
        ("{math: -1}", "stages.a.domains.math: must be a number above 0, got -1"),
        ("[math, 3]", "stages.a.domains[1]: must be text, got 3; put it in quotes"),
    ],
)
def test_only_the_branch_that_was_meant_is_reported(domains, message):
    text = BASE.replace("domain: math", f"kind: sft\n    domains: {domains}")
    assert problems(text) == [f"c.yaml:6: {message}"]


def test_every_problem_at_once_in_the_order_of_the_file_and_overrides_last():
    text = BASE + (
        "    batch_size: 0\n"
        "  - {name: a, domian: math, steps: ten}\n"
        "  - {name: c, steps: 1, lr: 1}\n"
    )
    found = problems(text, "seed=-1")
    assert [line.partition(": ")[0::2] for line in found] == [
        ("c.yaml:1", "stage names must be unique; twice: a"),
        ("c.yaml:7", "stages[0].batch_size: must be a whole number above 0, got 0"),
        ("c.yaml:8", "stages[1].steps: must be a whole number above 0, got 'ten'"),
        (
            "c.yaml:8",
            f"stages[1].domian: unknown key 'domian'; did you mean 'domain'? Allowed: {STAGE_KEYS}",
        ),
        (
            "c.yaml:9",
            f"stages.c.lr: unknown key 'lr'; did you mean 'optimizer.lr'? Allowed: {STAGE_KEYS}",
        ),
        ("c.yaml:9", "stages.c: a grpo stage needs `domain`"),
        ("--set", "seed: must be a whole number of at least 0, got -1"),
    ]


def test_what_a_mistake_drags_along_is_not_reported():
    """A misspelt key is one problem, not also a missing one; so is a misspelt kind."""
    text = BASE.replace("domain: math", "domian: math")
    assert [line.partition(":")[2][:20] for line in problems(text)] == ["5: stages.a.domian: "]
    text = BASE.replace("domain: math", "kind: stf\n    domains: [math]")
    assert problems(text) == [
        "c.yaml:5: stages.a.kind: must be one of sft, grpo, got 'stf'; did you mean 'sft'?"
    ]


def test_an_error_in_an_override_names_it():
    assert problems(BASE, "stages.a.steps=ten") == [
        "--set: stages.a.steps: must be a whole number above 0, got 'ten'"
    ]
    assert problems(BASE, "stages.a.stepz=3")[0].startswith(
        "--set: stages.a.stepz: unknown key 'stepz'; did you mean 'steps'?"
    )


def test_load_config_returns_the_config_or_raises_with_all_problems():
    Path("c.yaml").write_text(BASE)
    source, config = load_config("c.yaml", ["stages.a.optimizer.lr=2e-3"])
    assert isinstance(config, CascadeConfig)
    assert config.stages[0].optimizer.lr == 2e-3
    assert source.origin(("stages", 0, "optimizer", "lr")) == "--set"
    with pytest.raises(ConfigError) as caught:
        load_config("c.yaml", ["seed=-1", "threads=0"])
    assert str(caught.value).splitlines() == [
        "--set: seed: must be a whole number of at least 0, got -1",
        "--set: threads: must be a whole number above 0 and at most 512, got 0",
    ]


def test_no_text_of_pydantic_reaches_the_user():
    text = BASE + "    sampling: {top_p: 0, top_k: -1, n: x}\n    budget: 3\n    gates: {a: 1}\n"
    for line in problems(text):
        assert "pydantic" not in line
        assert "Input should" not in line
