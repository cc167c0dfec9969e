"""One cascade on verl for real, on a CPU: killed after its first step, resumed, and finished.

sft, ifeval with in-batch filtering, maths with masks and a schedule, and a domain whose reward
raises, hangs and returns None. The local backend then runs the same file.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from safetensors.torch import load_file

from cascade_rl.testing import write_pack

CASCADE = """
name: e2e
device: cpu
threads: 1
workers: 1
checkpoint_every: 1
reward_timeout_s: 3
model:
  build: {hidden_size: 64, intermediate_size: 128, layers: 2, heads: 4, kv_heads: 2, context: 256}
domains:
  math: {options: {max_operand: 9, count: 24, demonstration_noise: 0}, budget: {prompt_tokens: 64}}
  ifeval: {options: {count: 24, demonstration_noise: 0}, budget: {prompt_tokens: 64}}
evaluation: {domains: [math, ifeval], prompts: 4, samples: 1, greedy: false}
stages:
  - name: sft
    kind: sft
    domains: [math, ifeval]
    steps: 130
    batch_size: 32
    optimizer: {lr: 5.0e-3, min_lr: 5.0e-4, schedule: cosine, warmup_steps: 20}
  - name: ifeval
    domain: ifeval
    steps: 2
    batch_size: 8
    sampling: {n: 4}
    filter: {kind: in_batch, max_retries: 1}
    optimizer: {lr: 1.0e-4}
  - name: math
    domain: math
    steps: 2
    batch_size: 8
    sampling: {n: 4}
    budget: {completion_tokens: 24, overlong: mask}
    schedule: {temperature: [{step: 1, value: 0.9}]}
    optimizer: {lr: 1.0e-4}
  - name: faulty
    domain: faulty
    steps: 2
    batch_size: 6
    sampling: {n: 4}
    max_unscored: 1
    optimizer: {lr: 1.0e-5}
"""

FAULTY = '''
"""Judges by the prompt: raises, hangs, returns None, or scores the length of the text."""
from cascade_rl import LengthBudget, Prompt, Reward, SamplingParams, hookimpl

KINDS = ("raise", "hang", "none", "fine0", "fine1", "fine2")

@hookimpl
def load_prompts(split):
    if split == "eval": return [Prompt.from_text("held-out", "fine")]
    return [Prompt.from_text(kind, kind) for kind in KINDS]

@hookimpl
def reward(prompt, completion):
    if prompt.text == "raise": raise ValueError("no such luck")
    if prompt.text == "none": return None
    while prompt.text == "hang": pass
    return Reward(score=1.0 + len(completion.text) % 5, correct=len(completion.text) % 2 == 0)

@hookimpl
def length_budget(): return LengthBudget(prompt_tokens=64, completion_tokens=24, overlong="keep")

@hookimpl
def sampling_params(): return SamplingParams(n=4)
'''

STATUS = {"raise": "error", "none": "error", "hang": "timeout"}
LIMIT_S = 800


def cascade(folder, backend, output):
    """The command, its environment and where its output goes."""
    command = [str(Path(sys.executable).parent / "cascade"), "run", "c.yaml"]
    command += ["--backend", backend, "--set", f"output={output}"]
    environment = {**os.environ, "PYTHONPATH": str(folder / "site"), "OMP_NUM_THREADS": "1"}
    for name in ("VERL_PLATFORM", "VERL_USE_EXTERNAL_MODULES", "VERL_ENGINE_DEVICE"):
        environment.pop(name, None)  # a user's shell has none of them
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def kill_after_first_checkpoint(folder):
    process = cascade(folder, "verl", "verl-run")
    tracker = folder / "verl-run/stages/ifeval/verl/latest_checkpointed_iteration.txt"
    deadline = time.monotonic() + LIMIT_S
    while not tracker.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    output, _ = process.communicate()
    assert tracker.exists(), output[-3000:]
    return read(folder / "verl-run/stages/ifeval/metrics.jsonl")


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """(folder, metrics at the kill): ``verl-run`` and ``local-run`` are finished runs."""
    folder = tmp_path_factory.mktemp("e2e")
    (folder / "site").mkdir()
    write_pack(folder / "site", "faulty", FAULTY, distribution="fake-faulty")
    (folder / "c.yaml").write_text(CASCADE)
    at_the_kill = kill_after_first_checkpoint(folder)
    for backend, output in (("verl", "verl-run"), ("local", "local-run")):
        process = cascade(folder, backend, output)
        said, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, said[-3000:]
    return folder, at_the_kill


def logs(runs, stage, name, run="verl-run"):
    return read(runs[0] / run / "stages" / stage / f"{name}.jsonl")


def weights(runs, stage):
    return load_file(runs[0] / "verl-run/stages" / stage / "model/model.safetensors")


def test_it_goes_on_after_the_kill_and_no_step_is_logged_twice(runs):
    metrics = logs(runs, "ifeval", "metrics")
    assert [m["step"] for m in metrics] == [1, 2]
    assert metrics[0] == runs[1][0]  # the first step was not made again
    log = (runs[0] / "verl-run/stages/ifeval/verl.log").read_text()
    assert "Resuming from" in log


def test_weights_change_in_every_stage_and_the_export_opens(runs):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    stages = ["sft", "ifeval", "math", "faulty"]
    for before, after in pairwise(stages):
        old, new = weights(runs, before), weights(runs, after)
        assert old.keys() == new.keys()
        assert max(float((new[k] - old[k]).abs().max()) for k in new) > 1e-6
    folder = runs[0] / "verl-run/stages/faulty/model"
    assert AutoModelForCausalLM.from_pretrained(folder).num_parameters() > 10_000
    assert "im_start" in AutoTokenizer.from_pretrained(folder).chat_template


def test_each_stage_starts_from_the_one_before(runs):
    for stage, before in (("ifeval", "sft"), ("math", "ifeval"), ("faulty", "math")):
        text = (runs[0] / "verl-run/stages" / stage / "verl.yaml").read_text()
        assert f"path: {runs[0]}/verl-run/stages/{before}/model\n" in text


@pytest.mark.parametrize("stage", ["ifeval", "math"])
def test_rollouts_verdicts_and_advantages_are_the_local_backends(runs, stage):
    """The same weights and seeds write the same texts; both backends judge them alike."""
    verl, local = logs(runs, stage, "rollouts"), logs(runs, stage, "rollouts", "local-run")
    same = ("step", "sample", "prompt_id", "mode", "completion", "reward", "correct", "status")
    assert [[row[k] for k in same] for row in verl] == [[row[k] for k in same] for row in local]
    for ours, theirs in zip(verl, local, strict=True):
        assert ours["advantage"] == pytest.approx(theirs["advantage"], abs=1e-6)


@pytest.mark.parametrize("stage", ["ifeval", "math"])
def test_metrics_have_the_same_keys_and_the_same_gradient(runs, stage):
    for verl, local in zip(
        logs(runs, stage, "metrics"), logs(runs, stage, "metrics", "local-run"), strict=True
    ):
        assert verl.keys() - local.keys() == {"lost"}
        assert not local.keys() - verl.keys()
        assert verl["lost"] == 0
        if local["grad_norm"] is not None:
            assert verl["grad_norm"] == pytest.approx(local["grad_norm"], rel=1e-4)
        for key in ("reward", "truncated", "masked", "resampled", "trained_tokens", "temperature"):
            assert verl[key] == local[key], key


def test_a_reward_that_raises_hangs_or_returns_none_is_counted_and_never_zero(runs):
    rollouts, metrics = logs(runs, "faulty", "rollouts"), logs(runs, "faulty", "metrics")
    assert [m["step"] for m in metrics] == [1, 2]  # the run went on
    for row in rollouts:
        expected = STATUS.get(row["prompt_id"], "scored")
        assert row["status"] == expected, row
        assert (row["reward"] is None) == (expected != "scored")
        assert row["reward"] != 0
        if expected != "scored":
            assert row["advantage"] == 0
    assert Counter(row["status"] for row in rollouts) == {"error": 16, "timeout": 8, "scored": 24}
    for figures in metrics:
        assert figures["unscored_by_status"] == {"error": 8, "timeout": 4}
        assert (figures["unscored"], figures["samples"]) == (12, 24)
        assert figures["reward"] >= 1  # a zero among them would pull the mean below
        assert figures["trained_samples"] <= 12


def test_nothing_of_ray_is_left_behind(runs):
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(runs[0]) not in found


def test_the_report_and_the_matrix_cover_every_stage(runs):
    matrix = json.loads((runs[0] / "verl-run/matrix.json").read_text())
    assert matrix["stages"] == ["before", "sft", "ifeval", "math", "faulty"]
    assert (runs[0] / "verl-run/report.html").exists()
