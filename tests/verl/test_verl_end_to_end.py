"""One cascade on verl for real, on a CPU: killed after its first step, resumed, and finished.

sft, ifeval with in-batch filtering, then maths with masks, a schedule, and a second reward that
raises, hangs or returns None for some prompts. The local backend then runs the same file.
Three starts of verl, each about 75 seconds of CPU, nearly all of them imports.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from zlib import crc32

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
  faulty: {}
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
    rewards: [{domain: math}, {domain: faulty, weight: 0.5}]
    max_unscored: 1
    optimizer: {lr: 1.0e-4}
"""

FAULTY = '''
"""Judges by the prompt: raises, hangs, returns None, or likes an even number of letters."""
import time
from zlib import crc32
from cascade_rl import LengthBudget, Prompt, Reward, SamplingParams, hookimpl

KINDS = ("fine", "hang", "none", "fine", "fine", "fine", "fine", "raise")

@hookimpl
def load_prompts(): return [Prompt.from_text("one", "one")]

@hookimpl
def reward(prompt, completion):
    kind = KINDS[crc32(prompt.id.encode()) % 8]
    if kind == "raise": raise ValueError("no such luck")
    if kind == "none": return None
    if kind == "hang": time.sleep(3600)
    return Reward.verdict(len(completion.text) % 2 == 0)

@hookimpl
def length_budget(): return LengthBudget(prompt_tokens=64, completion_tokens=24)

@hookimpl
def sampling_params(): return SamplingParams(n=4)
'''

STATUS = {7: "error", 1: "timeout", 2: "error"}  # by the prompt, as in the pack above
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
    for backend in ("verl", "local"):
        process = cascade(folder, backend, f"{backend}-run")
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

    for before, after in pairwise(["sft", "ifeval", "math"]):
        old, new = weights(runs, before), weights(runs, after)
        assert old.keys() == new.keys()
        assert max(float((new[k] - old[k]).abs().max()) for k in new) > 1e-6
    folder = runs[0] / "verl-run/stages/math/model"
    assert AutoModelForCausalLM.from_pretrained(folder).num_parameters() > 10_000
    assert "im_start" in AutoTokenizer.from_pretrained(folder).chat_template


def test_each_stage_starts_from_the_one_before(runs):
    for stage, before in (("ifeval", "sft"), ("math", "ifeval")):
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


def test_every_key_of_the_metrics_is_in_the_documentation(runs):
    page = (Path(__file__).resolve().parents[2] / "docs/cluster.md").read_text()
    table = page.partition("## Metrics")[2].partition("## Checkpoints")[0]
    listed = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = set(re.findall(r"`(\w+)`", " ".join(listed)))
    assert named == set(logs(runs, "math", "metrics")[0])


def test_a_reward_that_raises_hangs_or_returns_none_is_counted_and_never_zero(runs):
    rollouts, metrics = logs(runs, "math", "rollouts"), logs(runs, "math", "metrics")
    assert [m["step"] for m in metrics] == [1, 2]  # the run went on
    for row in rollouts:
        expected = STATUS.get(crc32(row["prompt_id"].encode()) % 8, "scored")
        assert row["status"] == expected, row
        assert (row["reward"] is None) == (expected != "scored")
        if expected != "scored":
            assert row["advantage"] == 0
    assert {row["status"] for row in rollouts} == {"error", "timeout", "scored"}
    reasons = " ".join(row["reason"] or "" for row in rollouts)
    assert "no such luck" in reasons
    assert "None" in reasons
    for figures in metrics:
        rows = [row for row in rollouts if row["step"] == figures["step"]]
        count = Counter(row["status"] for row in rows)
        scored = count.pop("scored")
        assert figures["unscored_by_status"] == count
        assert (figures["unscored"], figures["samples"]) == (32 - scored, 32)
        assert 0 < figures["trained_samples"] <= scored
        scores = [row["reward"] for row in rows if row["reward"] is not None]
        assert figures["reward"] == pytest.approx(sum(scores) / scored)  # no zeros among them


def test_nothing_of_ray_is_left_behind(runs):
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(runs[0]) not in found


def test_the_report_and_the_matrix_cover_every_stage(runs):
    matrix = json.loads((runs[0] / "verl-run/matrix.json").read_text())
    assert matrix["stages"] == ["before", "sft", "ifeval", "math"]
    assert (runs[0] / "verl-run/report.html").exists()
