"""Checkpoints: a bitwise round trip, only the last one kept, corruption named."""

import json
import os
import random
import shutil
import subprocess
import sys

import pytest
import torch

from cascade_rl.errors import RunError
from cascade_rl_trainer.state import checkpoint


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def make_model():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 1)
    )
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95))


def train(model, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        x = torch.randn(4, 8) * random.random()
        model(x).square().mean().backward()
        optimizer.step()


def save(stage_dir, model, optimizer, step, record=None):
    return checkpoint.save(
        stage_dir,
        step,
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "random": checkpoint.random_state(),
        },
        record or {},
    )


def bits(model):
    return {k: v.view(torch.int32).tolist() for k, v in model.state_dict().items()}


def test_a_resumed_run_is_bitwise_the_uninterrupted_one(tmp_path):
    model, optimizer = make_model()
    random.seed(1)
    train(model, optimizer, 3)
    save(tmp_path, model, optimizer, 3)
    train(model, optimizer, 3)

    other, its_optimizer = make_model()
    loaded = checkpoint.latest(tmp_path)
    other.load_state_dict(loaded.load("model"))
    its_optimizer.load_state_dict(loaded.load("optimizer"))
    checkpoint.restore_random_state(loaded.load("random"))
    train(other, its_optimizer, 3)
    assert bits(other) == bits(model)
    assert its_optimizer.state_dict()["param_groups"] == optimizer.state_dict()["param_groups"]


def test_odd_values_keep_their_bits_and_their_dtype(tmp_path):
    values = {
        "half": torch.tensor([1.5, float("nan"), -0.0], dtype=torch.bfloat16),
        "scalar": torch.tensor(3.0, dtype=torch.float64),
        "empty": torch.zeros(0, 4),
        "bool": torch.tensor([True, False]),
    }
    checkpoint.save(tmp_path, 1, {"model": values}, {})
    loaded = checkpoint.latest(tmp_path).load("model")
    for name, value in values.items():
        assert loaded[name].dtype == value.dtype
        assert loaded[name].shape == value.shape
    assert loaded["half"].view(torch.int16).tolist() == values["half"].view(torch.int16).tolist()
    assert loaded["scalar"].item() == 3.0


def test_the_record_comes_back_and_only_the_last_checkpoint_stays(tmp_path):
    model, optimizer = make_model()
    record = {"logs": {"metrics": 1234}, "filter": {"easy": ["a"]}, "seconds": 1.5}
    save(tmp_path, model, optimizer, 10)
    saved = save(tmp_path, model, optimizer, 120, record)
    found = checkpoint.latest(tmp_path)
    assert (found.step, found.record) == (120, record) == (saved.step, saved.record)
    assert names(tmp_path) == ["checkpoint-000120", "latest.json"]
    again = save(tmp_path, model, optimizer, 120, {"second": True})
    assert checkpoint.latest(tmp_path).record == again.record == {"second": True}


def test_none_before_the_first_and_none_after_removal(tmp_path):
    assert checkpoint.latest(tmp_path) is None
    save(tmp_path, *make_model(), 5)
    checkpoint.remove(tmp_path)
    assert checkpoint.latest(tmp_path) is None
    assert names(tmp_path) == []


def _cut(path):
    os.truncate(path, path.stat().st_size - 2)


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [_cut, _flip, lambda path: path.unlink()])
@pytest.mark.parametrize(
    "name",
    [
        "checkpoint-000007/model.pt",
        "checkpoint-000007/optimizer.pt",
        "checkpoint-000007/record.json",
    ],
)
def test_any_damage_is_an_error_with_the_file_and_the_way_out(tmp_path, name, damage):
    save(tmp_path, *make_model(), 7)
    damage(tmp_path / name)
    with pytest.raises(RunError) as caught:
        checkpoint.latest(tmp_path)
    message = str(caught.value)
    assert str(tmp_path / name) in message
    assert f"remove the folder {tmp_path} to start this stage again" in message


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"checkpoint": "../x"}'])
def test_a_damaged_pointer_is_an_error(tmp_path, text):
    save(tmp_path, *make_model(), 7)
    (tmp_path / "latest.json").write_text(text)
    with pytest.raises(RunError, match=r"latest\.json cannot be used"):
        checkpoint.latest(tmp_path)


def test_a_pointer_to_a_folder_that_is_gone_is_an_error(tmp_path):
    save(tmp_path, *make_model(), 7)
    shutil.rmtree(tmp_path / "checkpoint-000007")
    with pytest.raises(
        RunError, match=r"checkpoint-000007/record\.json cannot be used: it is missing"
    ):
        checkpoint.latest(tmp_path)


# One process; a forked child for each kill point of a second save.
KILL_SAVES = """
import json, os, signal, sys, warnings
from pathlib import Path
import torch
from cascade_rl_trainer.state import checkpoint, files

warnings.simplefilter("ignore")  # a fork of a process with threads
outcome, n = [], 0
while True:
    n += 1
    home = Path(sys.argv[1]) / str(n)
    home.mkdir()
    checkpoint.save(home, 10, {"model": {"w": torch.full((4,), 10.0)}}, {"step": 10})
    pid = os.fork()
    if pid == 0:
        seen = 0
        def hook(event, args):
            global seen
            seen += 1
            if seen == n:
                os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        checkpoint.save(home, 20, {"model": {"w": torch.full((4,), 20.0)}}, {"step": 20})
        os._exit(0)
    killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    files.clean_up(home)
    found = checkpoint.latest(home)
    outcome.append([killed, found.step, found.record["step"], found.load("model")["w"].tolist()])
    if not killed:
        break
print(json.dumps(outcome))
"""


def test_a_save_killed_anywhere_leaves_a_complete_checkpoint(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", KILL_SAVES, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    outcomes = json.loads(run.stdout)
    assert len(outcomes) > 15
    steps = [step for _, step, _, _ in outcomes]
    assert steps == sorted(steps)
    assert set(steps) == {10, 20}
    for _, step, recorded, weights in outcomes:
        assert recorded == step
        assert weights == [float(step)] * 4


def test_a_full_disk_keeps_the_previous_checkpoint(tmp_path):
    script = """
import resource, sys
from pathlib import Path
import torch
from cascade_rl.errors import RunError
from cascade_rl_trainer.state import checkpoint
home = Path(sys.argv[1])
checkpoint.save(home, 10, {"model": {"w": torch.zeros(4)}}, {})
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
try:
    checkpoint.save(home, 20, {"model": {"w": torch.zeros(1 << 20)}}, {})
except RunError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "cannot write" in run.stdout
    assert checkpoint.latest(tmp_path).step == 10
    assert names(tmp_path) == ["checkpoint-000010", "latest.json"]
