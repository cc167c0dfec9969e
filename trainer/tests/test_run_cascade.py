"""A whole small cascade: what it leaves, how it goes on after a stop, what stops it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cascade_rl.config import load_config, trace
from cascade_rl.errors import RunError
from cascade_rl.registry import Registry
from cascade_rl_trainer.local.backend import LocalBackend
from cascade_rl_trainer.run.data import take_fingerprint
from cascade_rl_trainer.run.walk import run_cascade

CASCADE = """
name: tiny
threads: 1
workers: 0
checkpoint_every: 2
model:
  build: {hidden_size: 16, intermediate_size: 24, layers: 1, heads: 2, kv_heads: 1, context: 64}
evaluation: {prompts: 8, samples: 2}
stages:
  - {name: sft, kind: sft, domains: [echo], steps: 5, batch_size: 8, optimizer: {lr: 0.01}}
  - {name: rl, domain: echo, steps: 4, batch_size: 4, optimizer: {lr: 0.001}}
"""

TIMES = re.compile(r'"(seconds|sampling_seconds|ms|started)": ?[^,}]*')


@pytest.fixture
def run(echo_pack, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(CASCADE)

    def go(*overrides, output="out", fork=None, on_step=lambda *_: None):
        registry = Registry()
        resolved = trace(*load_config("c.yaml", list(overrides)), registry).cascade()
        fingerprint = take_fingerprint(resolved, registry, 1, "cpu")
        said: list[str] = []
        outcome = run_cascade(
            resolved,
            LocalBackend(registry),
            fingerprint,
            Path(output),
            fork=fork,
            on_step=on_step,
            say=said.append,
        )
        return outcome, said

    return go


def read(name):
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


def contents(folder):
    """Every log and score of a run, without times."""
    files = [*folder.glob("stages/*/*.jsonl"), folder / "matrix.json"]
    return {str(f.relative_to(folder)): TIMES.sub("", f.read_text()) for f in sorted(files)}


def test_what_a_run_leaves(run):
    outcome, _ = run()
    assert outcome.matrix.stages == ("before", "sft", "rl")
    assert all(0 <= row[0] <= 1 for row in outcome.matrix.scores)
    metrics = read("out/stages/rl/metrics.jsonl")
    assert [m["step"] for m in metrics] == [1, 2, 3, 4]
    rollouts = read("out/stages/rl/rollouts.jsonl")
    assert len(rollouts) == 4 * 4 * 4
    assert {"prompt", "completion", "reward", "status", "reason"} <= set(rollouts[0])
    for rollout in rollouts:  # each completion was judged against the prompt it answers
        assert rollout["correct"] == (rollout["prompt"] in rollout["completion"])
    assert "rl" in Path("out/report.html").read_text()
    assert not list(Path("out").glob("stages/*/checkpoint-*"))


def test_a_saved_model_opens_with_transformers(run):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    run()
    model = AutoModelForCausalLM.from_pretrained("out/stages/rl/model")
    tokenizer = AutoTokenizer.from_pretrained("out/stages/rl/model")
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "a"}], tokenize=False, add_generation_prompt=True
    )
    assert text == "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n"
    assert model.num_parameters() > 1000


def test_a_finished_run_is_recognised(run):
    run()
    before = contents(Path("out"))
    outcome, _ = run()
    assert outcome.already_finished
    assert contents(Path("out")) == before


@pytest.mark.parametrize("stop_at", [("sft", 1), ("sft", 3), ("sft", 5), ("rl", 1), ("rl", 3)])
def test_an_interrupted_run_equals_an_uninterrupted_one(run, stop_at):
    run(output="whole")

    class Stop(Exception):
        pass

    def on_step(stage, step, total, figures):
        if (stage, step) == stop_at:
            raise Stop

    with pytest.raises(Stop):
        run(output="out", on_step=on_step)
    run(output="out")
    assert contents(Path("out")) == contents(Path("whole"))


def test_an_interrupted_evaluation_is_done_again(run, monkeypatch):
    run(output="whole")
    calls = []

    def on_step(stage, step, total, figures):
        calls.append(stage)
        if calls.count("evaluation") == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(on_step=on_step)
    run()
    assert contents(Path("out")) == contents(Path("whole"))


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("stages.rl.steps=5", r"stages\[1\]\.steps: 4 -> 5 \(--set\)"),
        ("stages.rl.optimizer.lr=0.5", r"stages\[1\]\.optimizer\.lr: 0\.001 -> 0\.5"),
        ("seed=7", r"seed: 0 -> 7"),
        ("domains.echo.options.count=12", r"data sft: echo"),
    ],
)
def test_a_changed_cascade_is_refused_with_what_changed(run, override, line):
    run()
    with pytest.raises(RunError, match=line):
        run(override)


def test_a_changed_pack_is_refused(run, echo_pack):
    run()
    module = next(echo_pack.glob("fake_echo*.py"))
    module.write_text(module.read_text() + "\n# another verifier\n")
    with pytest.raises(RunError, match=r"pack echo: source changed \(1\.0\)"):
        run()


def test_fork_keeps_the_stages_before_and_starts_anew_from_one(run):
    run()
    sft = Path("out/stages/sft/metrics.jsonl").read_text()
    outcome, _ = run("stages.rl.steps=2", fork="rl")
    assert Path("out/stages/sft/metrics.jsonl").read_text() == sft
    assert len(Path("out/stages/rl/metrics.jsonl").read_text().splitlines()) == 2
    assert outcome.matrix.stages == ("before", "sft", "rl")
    fresh, _ = run("stages.rl.steps=2", output="fresh")
    assert outcome.matrix.scores == fresh.matrix.scores


def test_a_fork_behind_a_change_is_refused(run):
    run()
    with pytest.raises(RunError, match=r"--fork rl: something before it has changed too"):
        run("stages.sft.steps=3", fork="rl")


def test_rewards_that_raise_stop_the_stage_and_are_never_zero(run):
    with pytest.raises(RunError, match=r"were not scored \(\d+ error\).*ValueError: no such luck"):
        run("stages.rl.options.fault=raise", "stages.rl.batch_size=8")
    rollouts = Path("out/stages/rl/rollouts.jsonl").read_text().splitlines()
    assert all(json.loads(line)["reward"] is None for line in rollouts)


def test_a_stage_without_any_signal_is_an_error(run):
    with pytest.raises(RunError, match=r"stage 'rl' trained on nothing: in all 4 steps"):
        run("stages.rl.options.fault=constant")


def test_no_signal_stop_ends_at_once(run):
    with pytest.raises(RunError, match=r"no_signal is `stop`"):
        run("stages.rl.options.fault=constant", "stages.rl.no_signal=stop")


def test_a_budget_that_cuts_everything_is_said_after_the_first_step(run):
    warned = []

    def on_step(stage, step, total, figures):
        warned.append((step, figures.get("warnings")))

    with pytest.raises(RunError, match=r"trained on nothing.*\n +100% of the first batch was tr"):
        run(
            "stages.rl.options.fault=constant",
            "stages.rl.budget.completion_tokens=1",
            on_step=on_step,
        )
    assert (
        1,
        [
            "100% of the first batch was truncated: budget.completion_tokens is too short for this "
            "model; raise it"
        ],
    ) in warned


def test_gold_that_its_own_verifier_rejects_stops_before_training(run, echo_pack):
    module = next(echo_pack.glob("fake_echo*.py"))
    module.write_text(module.read_text().replace("else prompt.ground_truth", "else '#'"))
    with pytest.raises(RunError, match=r"8 of 8 gold completions do not pass its own reward"):
        run()


def test_a_failing_gate_stops_the_run(run):
    with pytest.raises(RunError, match=r"gate on echo after rl.*FAILED"):
        run(
            "stages.sft.steps=150",
            "stages.sft.optimizer.lr=0.02",
            "stages.rl.optimizer.lr=5",
            "stages.rl.gates=[{domain: echo, max_drop: 0.01, action: stop}]",
        )


def test_in_batch_filtering_is_bounded_and_keeps_groups_with_signal(run):
    run(
        "stages.sft.steps=30",
        "stages.rl.filter={kind: in_batch, max_retries: 2}",
    )
    for figures in read("out/stages/rl/metrics.jsonl"):
        assert figures["resampled"] <= 2
        assert figures["zero_variance"] == 0.0 or figures["trained_samples"] == 0


def test_schedules_change_temperature_and_length_at_their_step(run):
    run(
        "stages.rl.schedule={temperature: [{step: 2, value: 0.7}], "
        "completion_tokens: [{step: 1, value: 4}]}"
    )
    rows = read("out/stages/rl/metrics.jsonl")
    assert [r["temperature"] for r in rows] == [1.0, 1.0, 0.7, 0.7]
    assert [r["completion_tokens"] for r in rows] == [6, 4, 4, 4]


def test_modes_split_every_batch(run):
    run("stages.rl.modes={think: 1, no_think: 1}")
    rollouts = read("out/stages/rl/rollouts.jsonl")
    for step in range(1, 5):
        modes = [r["mode"] for r in rollouts if r["step"] == step]
        assert (modes.count("think"), modes.count("no_think")) == (8, 8)


def test_a_weighted_reward_logs_its_parts(run):
    run("stages.rl.rewards=[{domain: echo}, {modifier: length, weight: -0.5}]")
    for row in read("out/stages/rl/rollouts.jsonl"):
        parts = row["components"]
        assert row["reward"] == pytest.approx(parts["echo"] - 0.5 * parts["length"])
        assert row["correct"] == bool(parts["echo"])


def test_a_gate_stops_every_run_until_it_is_changed(run):
    def go(action):
        return run(
            "stages.sft.steps=150",
            "stages.sft.optimizer.lr=0.02",
            "stages.rl.optimizer.lr=5",
            f"stages.rl.gates=[{{domain: echo, max_drop: 0.01, action: {action}}}]",
        )

    for _ in range(2):
        with pytest.raises(RunError, match=r"gate on echo after rl.*FAILED"):
            go("stop")
    outcome, _ = go("warn")
    assert outcome.matrix.stages == ("before", "sft", "rl")


def test_a_killed_fork_goes_on_when_it_is_asked_for_again(run):
    class Stop(Exception):
        pass

    def on_step(stage, step, total, figures):
        if step == 3:
            raise Stop

    run()
    with pytest.raises(Stop):
        run("stages.rl.steps=6", fork="rl", on_step=on_step)
    steps = []
    run("stages.rl.steps=6", fork="rl", on_step=lambda s, n, t, f: steps.append((s, n)))
    assert [n for s, n in steps if s == "rl"] == [3, 4, 5, 6]


@pytest.mark.parametrize("output", ["/proc/nowhere", "c.yaml"])
def test_an_output_folder_that_cannot_be_written_is_named(run, output):
    with pytest.raises(RunError, match=rf"cannot write to the output folder {output}"):
        run(output=output)


def test_a_stage_that_fails_is_in_the_report(run):
    with pytest.raises(RunError, match="trained on nothing"):
        run("stages.rl.options.fault=constant")
    assert "0.25" in Path("out/report.html").read_text()
