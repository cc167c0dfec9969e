"""An outsider's pack beside the wheels of core and trainer: checked, scored, served, trained.

It has its own naming scheme, another build backend, and a class with options.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.request

import pytest

pytestmark = pytest.mark.slow

SAMPLES = [
    {"ground_truth": {"numbers": [2, 3, 7], "target": 35}, "completion": "= (2+3)*7"},
    {"ground_truth": {"numbers": [2, 3, 7], "target": 35}, "completion": "= 5*7"},
]
CASCADE = """
name: two-steps
threads: 1
workers: 1
model:
  build: {hidden_size: 32, intermediate_size: 64, layers: 1, heads: 2, kv_heads: 1, context: 96}
evaluation: {prompts: 4, samples: 2}
stages:
  - name: countdown
    domain: countdown
    steps: 2
    batch_size: 2
    options: {format_score: 0.1}
    sampling: {n: 4}
    no_signal: skip
    optimizer: {lr: 0.0001}
    rewards:
      - {domain: countdown, weight: 1}
      - {modifier: repetition, weight: -0.5, options: {n: 2, unit: characters}}
      - {modifier: length, weight: -0.1, options: {unit: characters}}
"""


@pytest.fixture(scope="module")
def env(tmp_path_factory, environments, wheels):
    names = ("cascade-rl[serve]", "cascade-rl-trainer", "acme-countdown")
    return environments.Environment.make(tmp_path_factory.mktemp("outside") / "env", wheels, names)


def test_it_is_listed_and_nothing_of_ours_but_core_and_trainer_is_there(env):
    listed = json.loads(env.run("cascade", "domains", "--check", "--json"))
    assert [p["name"] for p in listed["packs"] if p["kind"] == "domain"] == ["countdown"]
    assert listed["warnings"] == []
    script = "import importlib.util as u; print(u.find_spec('cascade_rl_math'))"
    assert env.run("python", "-c", script).strip() == "None"


def test_it_is_checked(env):
    report = json.loads(env.run("cascade", "check", "countdown", "--json"))
    assert [r["check"] for r in report["results"] if r["outcome"] != "ok"] == ["groups"]


def test_it_is_scored(env, tmp_path):
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, SAMPLES)))
    out = env.run("cascade", "score", "countdown", "in.jsonl", "--option", "format_score=0.25",
                  cwd=tmp_path)  # fmt: skip
    assert [json.loads(line)["score"] for line in out.splitlines()] == [1.0, 0.25]


def test_it_is_served(env):
    process = subprocess.Popen(
        [env.folder / "bin" / "cascade", "serve", "--domain", "countdown", "--port", "0"],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": ""},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        address = re.search(r"http://\S+", process.stderr.readline())
        assert address
        body = {"domain": "countdown", "items": SAMPLES}
        request = urllib.request.Request(
            f"{address[0]}/v1/rewards",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        deadline = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(request, timeout=20) as reply:
                    rewards = json.load(reply)["rewards"]
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        assert [r["score"] for r in rewards] == [1.0, 0.0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


def test_it_is_trained_for_two_steps_and_every_component_is_logged(env, tmp_path):
    (tmp_path / "c.yaml").write_text(CASCADE)
    env.run("cascade", "run", "c.yaml", cwd=tmp_path, OMP_NUM_THREADS="1")
    stage = tmp_path / "runs" / "two-steps" / "stages" / "countdown"
    steps = [json.loads(line) for line in (stage / "metrics.jsonl").read_text().splitlines()]
    assert [s["step"] for s in steps] == [1, 2]
    for line in (stage / "rollouts.jsonl").read_text().splitlines():
        rollout = json.loads(line)
        parts = rollout["components"]
        assert {"format", "countdown", "repetition", "length"} <= parts.keys()
        total = parts["countdown"] - 0.5 * parts["repetition"] - 0.1 * parts["length"]
        assert rollout["reward"] == pytest.approx(total)
    run = tmp_path / "runs" / "two-steps"
    assert "samples in 4 groups" in env.run("cascade", "rescore", run, "--domain", "countdown")
