"""The three recipes against the paper's table (arXiv 2512.13607, Appendix D, tables 15 to 20)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cascade_rl.config import load_config, trace
from cascade_rl.registry import Registry

ROOT = Path(__file__).resolve().parents[1]
K = 1024

# stage: (domain, steps, prompts, group, lr, temperature, completion tokens, overlong, filter)
RLHF = ("rlhf", 800, 256, 8, 2e-6, 0.6, 12 * K, "keep", "none")
MATH_8B = {
    "math-24k": ("math", 190, 128, 8, 2e-6, 1.0, 24 * K, "mask", "epoch"),
    "math-32k": ("math", 240, 128, 8, 2e-6, 1.0, 32 * K, "zero", "epoch"),
    "math-40k": ("math", 70, 128, 8, 2e-6, 0.8, 40 * K, "zero", "epoch"),
}
SWE_8B = {
    "swe-16k": ("swe", 30, 128, 16, 2.5e-6, 1.0, 16 * K, "mask", "none"),
    "swe-24k": ("swe", 30, 128, 16, 2.5e-6, 1.0, 16 * K, "zero", "none"),
}
TABLE = {
    "8b": {
        "rlhf": RLHF,
        "if-1": ("ifeval", 2300, 256, 8, 2e-6, 0.6, 8 * K, "zero", "in_batch"),
        "if-2": ("ifeval", 800, 256, 8, 2e-6, 0.6, 8 * K, "zero", "in_batch"),
        **MATH_8B,
        "code": ("code", 90, 128, 8, 4e-6, 1.0, 44 * K, "zero", "none"),
        **SWE_8B,
    },
    "8b-thinking": {
        "rlhf": RLHF,
        "if-1": ("ifeval", 550, 256, 8, 2e-6, 0.6, 8 * K, "zero", "in_batch"),
        "if-2": ("ifeval", 300, 256, 8, 2e-6, 0.6, 16 * K, "mask", "in_batch"),
        **MATH_8B,
        "code": ("code", 64, 128, 8, 4e-6, 1.2, 44 * K, "zero", "none"),
        **SWE_8B,
    },
    "14b-thinking": {
        "rlhf": ("rlhf", 900, 256, 8, 2e-6, 0.6, 12 * K, "keep", "none"),
        "if-1": ("ifeval", 800, 256, 8, 2e-6, 0.6, 8 * K, "zero", "in_batch"),
        "if-2": ("ifeval", 120, 256, 8, 2e-6, 0.6, 16 * K, "mask", "in_batch"),
        "math-28k": ("math", 120, 128, 8, 2.5e-6, 1.2, 28 * K, "mask", "epoch"),
        "math-40k": ("math", 100, 128, 8, 2.5e-6, 1.1, 40 * K, "zero", "epoch"),
        "code": ("code", 64, 128, 8, 4e-6, 1.0, 56 * K, "zero", "none"),
        "swe": ("swe", 120, 128, 16, 2.5e-6, 1.0, 16 * K, "mask", "none"),
    },
}
STEPS = {"8b": 4550, "8b-thinking": 2274, "14b-thinking": 2224}  # sums of the paper's
SWE_PROMPTS = {"swe-16k": 16 * K, "swe-24k": 24 * K, "swe": 32 * K}


def recipe(name):
    return ROOT / "recipes" / f"nemotron-cascade-{name}.yaml"


def planned(name):
    return trace(*load_config(recipe(name)), Registry()).planned()


@pytest.mark.parametrize("name", TABLE)
def test_every_number_of_the_papers_table(name):
    found = {}
    for stage in planned(name).stages:
        config, (domain,) = stage.config, stage.domains
        budget, sampling = domain.budget, domain.sampling
        found[config.name] = (
            *(domain.name, config.steps, config.batch_size, sampling.n, config.optimizer.lr),
            *(sampling.temperature, budget.completion_tokens, budget.overlong, config.filter.kind),
        )
        assert (sampling.top_p, sampling.top_k) == (0.95, 0)
        assert config.optimizer.betas == (0.9, 0.95)
        assert config.optimizer.schedule == "constant"
        if config.filter.kind == "epoch":
            assert (config.filter.return_hard, config.filter.return_easy) == (0.10, 0.01)
        if domain.name == "swe":
            assert budget.prompt_tokens == SWE_PROMPTS[config.name]
    assert found == TABLE[name]
    assert list(found) == list(TABLE[name])
    assert sum(row[1] for row in found.values()) == STEPS[name]


@pytest.mark.parametrize("name", TABLE)
def test_modes(name):
    """The unified model mixes modes in RLHF and leaves thoughts out of IF; the others think."""
    for stage in planned(name).stages:
        expected = {"think": 1.0}
        if name == "8b" and stage.config.domain == "rlhf":
            expected = {"think": 1.0, "no_think": 1.0}
        if name == "8b" and stage.config.domain == "ifeval":
            expected = {"no_think": 1.0}
        assert stage.config.modes == expected, stage.config.name


def test_the_unified_models_code_stage_gets_longer_and_cooler():
    (code,) = [s.config for s in planned("8b").stages if s.config.name == "code"]
    assert [k.value for k in code.schedule.completion_tokens] == [48 * K]
    assert [k.value for k in code.schedule.temperature] == [0.8]


@pytest.mark.parametrize("name", TABLE)
def test_the_longest_sequence_fits_into_a_micro_batch(name):
    """verl bounds a micro-batch by tokens a GPU, times the GPUs that share a sequence."""
    cascade = planned(name)
    actor = cascade.config.verl["actor_rollout_ref"]["actor"]
    most = actor["ppo_max_token_len_per_gpu"] * actor["ulysses_sequence_parallel_size"]
    for stage in cascade.stages:
        budget = stage.domains[0].budget
        knots = [int(k.value) for k in stage.config.schedule.completion_tokens]
        assert budget.prompt_tokens + max([budget.completion_tokens, *knots]) <= most


@pytest.mark.parametrize("name", TABLE)
def test_every_number_of_a_stage_has_its_mark(name):
    """[A] the paper, [A!] the paper against itself, [?] ours; see the head of each recipe."""
    text = recipe(name).read_text()
    stages = text[text.index("\nstages:") :].splitlines()
    numbers = [line for line in stages if re.search(r"\d", line.partition("#")[0])]
    numbers = [line for line in numbers if not line.strip().startswith("- name:")]
    assert len(numbers) > 40
    assert [line for line in numbers if not re.search(r"# \[(A|A!|\?)\]", line)] == []


@pytest.mark.parametrize("name", TABLE)
def test_plan_exits_0_and_lists_what_it_could_not_verify_here(name):
    command = [str(Path(sys.executable).parent / "cascade"), "plan", "--backend", "verl"]
    done = subprocess.run(
        [*command, str(recipe(name))], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    said = " ".join(done.stdout.split())
    for stage in TABLE[name]:
        assert f"stage {stage}: verl " in said
        assert f"stages/{stage} --config-name verl " in said
    for missing in ("no domain 'rlhf' is installed", "no domain 'swe' is installed"):
        assert missing in said
    for data in ("Instruction-Following", "Cascade-RL-Math", "competitive_coding"):
        assert f"is on a hub (nvidia/Nemotron-{'RL-coding-' if 'coding' in data else ''}" in said
        assert data in said
    assert "ppo_mini_batch_size: 256" in said
    assert f"{STEPS[name]:,} steps: 0 wrong" in said
