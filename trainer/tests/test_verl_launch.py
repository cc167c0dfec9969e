"""The child process and what it leaves: following, failing, stopping, exporting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from cascade_rl.errors import RunError
from cascade_rl_trainer.verl import checkpoints, launch
from cascade_rl_trainer.verl.follow import Follower


def script(monkeypatch, text):
    """Run a script of ours in verl's place."""
    monkeypatch.setattr(launch, "command", lambda _folder: [sys.executable, "-c", text])
    monkeypatch.setattr(launch, "POLL_S", 0.02)


def test_the_command_is_verls_own_trainer(tmp_path):
    assert launch.command(tmp_path)[1:] == [
        "-m",
        "verl.trainer.main_ppo",
        "--config-path",
        str(tmp_path),
        "--config-name",
        "verl",
    ]


def test_output_goes_to_the_log_and_variables_to_the_child(tmp_path, monkeypatch):
    script(monkeypatch, "import os; print(os.environ['X'], os.environ['CASCADE_RL_PARENT'])")
    launch.run(tmp_path, {"X": "mine"}, lambda: None)
    assert (tmp_path / "verl.log").read_text() == f"mine {os.getpid()}\n"


def test_a_failure_is_told_with_our_own_reason(tmp_path, monkeypatch):
    outcome = tmp_path / "outcome.json"
    script(monkeypatch, f"open({str(outcome)!r}, 'w').write('{{\"error\": \"no signal\"}}'); 1/0")
    with pytest.raises(RunError, match=r"verl ended with status 1: no signal\n  Its output: .*log"):
        launch.run(tmp_path, {}, lambda: None)


def test_without_one_the_last_error_line_of_the_log_is_told(tmp_path, monkeypatch):
    (tmp_path / "verl.log").write_text("ValueError: of an earlier run\n")
    (tmp_path / "outcome.json").write_text('{"error": "of an earlier run"}')
    script(monkeypatch, "print('(pid=1) KeyError: mine'); print('done'); raise SystemExit(3)")
    with pytest.raises(RunError, match=r"status 3: \(pid=1\) KeyError: mine"):
        launch.run(tmp_path, {}, lambda: None)


def test_an_interrupt_stops_the_child_and_what_it_started(tmp_path, monkeypatch):
    pids = tmp_path / "pids"
    script(
        monkeypatch,
        "import subprocess, sys, os, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(pids)!r} + '.part', 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(pids)!r} + '.part', {str(pids)!r}); time.sleep(60)",
    )

    def watch():
        if pids.exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        launch.run(tmp_path, {}, watch)
    for pid in map(int, pids.read_text().split()):
        assert not alive(pid)


def alive(pid):
    """Whether a process runs still; one that is dead and not yet reaped does not."""
    for _ in range(100):
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
        ).stdout.strip()
        if not state or state.startswith("Z"):
            return False
        time.sleep(0.02)
    return True


def test_each_whole_line_is_told_once(tmp_path):
    told, path = [], tmp_path / "metrics.jsonl"
    follower = Follower(path, "rl", 3, lambda *args: told.append(args))
    follower()
    path.write_text('{"step": 1, "reward": 0.5}\n{"step": 2, "rew')
    follower()
    follower()
    path.write_text('{"step": 1, "reward": 0.5}\n{"step": 2, "reward": 1.0}\n')
    follower()
    assert told == [
        ("rl", 1, 3, {"step": 1, "reward": 0.5}),
        ("rl", 2, 3, {"step": 2, "reward": 1.0}),
    ]


def checkpoint(folder, step, weights=True):
    found = folder / "verl" / f"global_step_{step}"
    hugging = found / "actor" / "huggingface"
    hugging.mkdir(parents=True)
    (found / "cascade_rl.json").write_text(json.dumps({"ended": None, "step": step}))
    (hugging / "config.json").write_text("{}")
    if weights:
        (hugging / "model.safetensors").write_bytes(b"weights")
    (folder / "verl" / "latest_checkpointed_iteration.txt").write_text(str(step))
    return found


def test_the_last_complete_checkpoint_is_found_and_older_ones_go(tmp_path):
    assert checkpoints.latest(tmp_path) is None
    first, second = checkpoint(tmp_path, 9), checkpoint(tmp_path, 10)
    assert checkpoints.latest(tmp_path) == second
    assert checkpoints.state_of(second)["step"] == 10
    checkpoints.remove_older(second)
    assert not first.exists()
    assert second.exists()


def test_a_missing_checkpoint_is_an_error_and_no_new_start(tmp_path):
    checkpoint(tmp_path, 4)
    (tmp_path / "verl" / "latest_checkpointed_iteration.txt").write_text("5")
    with pytest.raises(RunError, match=r"names the checkpoint global_step_5, which is missing"):
        checkpoints.latest(tmp_path)


def test_an_export_is_a_whole_folder_and_outlives_its_checkpoint(tmp_path):
    found = checkpoint(tmp_path, 2)
    checkpoints.export(found, tmp_path / "model")
    checkpoints.remove_all(tmp_path)
    assert not (tmp_path / "verl").exists()
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == b"weights"
    with pytest.raises(RunError, match="must leave `hf_model` among"):
        checkpoints.export(checkpoint(tmp_path / "other", 2, weights=False), tmp_path / "m")


def test_a_model_folder_becomes_the_first_model_without_its_weights_being_read(
    tmp_path, make_policy
):
    from transformers import AutoTokenizer

    from cascade_rl.config.schema import ModelConfig
    from cascade_rl_trainer.model.load import save_policy
    from cascade_rl_trainer.model.template import CHATML
    from cascade_rl_trainer.verl.first_model import prepare

    source, target = tmp_path / "source", tmp_path / "target"
    save_policy(make_policy(), source)
    template = source / "chat_template.jinja"
    template.write_text("{{ 'another' }}")
    (source / "model.safetensors").write_bytes(b"not read")
    assert prepare(ModelConfig(path=str(source)), target)
    assert (target / "model.safetensors").read_bytes() == b"not read"
    assert AutoTokenizer.from_pretrained(target).chat_template == CHATML
    assert template.read_text() == "{{ 'another' }}"  # the source is as it was
    assert not prepare(ModelConfig(build={}), tmp_path / "built")


def test_a_completion_that_never_came_is_an_unscored_sample_of_the_evaluation(tmp_path):
    from cascade_rl.types import Completion, LengthBudget, Prompt, Reward, SamplingParams
    from cascade_rl_trainer.local.rollout import Group, Rollout
    from cascade_rl_trainer.verl.evaluation import read_samples, write_samples
    from cascade_rl_trainer.verl.wire import Request

    prompt = Prompt.from_text("p", "p", mode="think")
    asked = [
        Request(
            domain="math",
            prompt=prompt,
            budget=LengthBudget(prompt_tokens=1, completion_tokens=1),
            sampling=SamplingParams(temperature=t, n=n),
            seeds=(0, "evaluation", 0),
        )
        for t, n in ((1.0, 2), (0.0, 1))
    ]
    sample = Rollout([1], Completion(text="x"), Reward.verdict(True))
    samples = write_samples(tmp_path, asked, {0: Group(prompt, [0], [sample])})
    assert [(s.value, s.greedy, s.mode) for s in samples] == [
        (1.0, False, "think"),
        (None, False, "think"),
        (None, True, "think"),
    ]
    assert read_samples(tmp_path) == samples
