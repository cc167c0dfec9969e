"""What verl is told, as plain dictionaries, and what a ``verl:`` section may say."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cascade_rl.config import load_config, trace
from cascade_rl.errors import ConfigError, RunError
from cascade_rl.registry import Registry
from cascade_rl_trainer.state.fingerprint import check_resume, difference, take
from cascade_rl_trainer.verl import configure, version
from cascade_rl_trainer.verl.backend import VerlBackend
from cascade_rl_trainer.verl.job import Job
from cascade_rl_trainer.verl.sections import leaves, merged, nested

CASCADE = """
name: c
device: cpu
checkpoint_every: 5
model: {build: {}}
stages:
  - name: rl
    domain: echo
    steps: 30
    batch_size: 12
    micro_batch: 20
    budget: {prompt_tokens: 16, completion_tokens: 24}
    sampling: {n: 8, temperature: 0.6, top_p: 0.95, top_k: 20}
    optimizer: {lr: 2.0e-6, min_lr: 1.0e-6, schedule: cosine, warmup_steps: 3, max_grad_norm: 0.5}
    schedule: {completion_tokens: [{step: 10, value: 40}]}
"""


@pytest.fixture
def job(echo_pack, tmp_path):
    def make(*overrides: str, stage: int | None = 0) -> Job:
        file = tmp_path / "c.yaml"
        file.write_text(CASCADE)
        cascade = trace(*load_config(file, list(overrides)), Registry()).cascade()
        return Job(cascade=cascade, folder="/runs/c/stages/rl", stage=stage)

    return make


def flat(config):
    return dict(leaves(config))


def test_a_stage_in_verls_words(job):
    config = flat(configure.verl_config(job(), "/runs/c/model", "cpu", gpus=1))
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    expected = {
        "data.train_files": "/runs/c/stages/rl/prompts.parquet",
        "data.train_batch_size": 12,
        "data.max_prompt_length": 16,
        "data.max_response_length": 40,  # the longest that the schedule comes to
        "actor_rollout_ref.model.path": "/runs/c/model",
        f"{actor}.ppo_mini_batch_size": 12,  # strictly on-policy: the whole batch at once
        f"{actor}.ppo_epochs": 1,
        f"{actor}.ppo_micro_batch_size_per_gpu": 16,  # the largest divisor of 96 up to 20
        f"{actor}.use_kl_loss": False,
        f"{actor}.entropy_coeff": 0,
        f"{actor}.loss_agg_mode": "token-mean",
        f"{actor}.optim.lr": 2e-6,
        f"{actor}.optim.betas": [0.9, 0.95],
        f"{actor}.optim.lr_scheduler_type": "cosine",
        f"{actor}.optim.min_lr_ratio": 0.5,
        f"{actor}.optim.lr_warmup_steps": 3,
        f"{actor}.optim.clip_grad": 0.5,
        f"{rollout}.name": "cascade_rl_cpu",
        f"{rollout}.max_model_len": 56,
        f"{rollout}.n": 8,
        f"{rollout}.temperature": 0.6,
        f"{rollout}.top_p": 0.95,
        f"{rollout}.top_k": 20,
        "algorithm.adv_estimator": "grpo",
        "algorithm.use_kl_in_reward": False,
        "reward.reward_manager.source": "importlib",
        "reward.reward_manager.name": "CascadeRewardManager",
        "trainer.v1.trainer_mode": "cascade_rl",
        "trainer.v1.cascade_rl.job": "/runs/c/stages/rl/job.json",
        "trainer.total_training_steps": 30,
        "trainer.save_freq": 5,
        "trainer.default_local_dir": "/runs/c/stages/rl/verl",
        "trainer.device": "cpu",
        "trainer.nnodes": 1,
    }
    assert {key: config[key] for key in expected} == expected
    assert config["ray_kwargs.ray_init.num_cpus"] >= 5  # with fewer, verl waits for ever
    # The old names are accepted by verl 0.9.1 and silently ignored.
    assert not [k for k in config if k.split(".")[0] in ("custom_reward_function", "reward_model")]


def test_no_top_k_is_verls_minus_one(job):
    config = configure.verl_config(job("stages.rl.sampling.top_k=0"), "m", "cpu", gpus=1)
    assert config["actor_rollout_ref"]["rollout"]["top_k"] == -1


def test_on_gpus_the_engine_is_vllm_and_rows_are_split_among_them(job):
    sections = "verl={trainer: {nnodes: 2}, actor_rollout_ref: {rollout: {name: sglang}}}"
    config = flat(configure.verl_config(job(sections), "m", "cuda", gpus=4))
    assert config["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"] == 12  # 96 rows / 8
    assert config["actor_rollout_ref.rollout.name"] == "sglang"
    assert config["trainer.n_gpus_per_node"] == 4
    assert "ray_kwargs.ray_init.runtime_env.env_vars.VERL_PLATFORM" not in config
    plain = flat(configure.verl_config(job(), "m", "cuda", gpus=4))
    assert plain["actor_rollout_ref.rollout.name"] == "vllm"


def test_sections_are_merged_last_the_stages_after_the_cascades(job):
    overrides = (
        "verl={trainer: {logger: [console, wandb]}, data: {dataloader_num_workers: 2}}",
        "stages.rl.verl={data.dataloader_num_workers: 4}",
    )
    config = flat(configure.verl_config(job(*overrides), "m", "cpu", gpus=1))
    assert config["trainer.logger"] == ["console", "wandb"]
    assert config["data.dataloader_num_workers"] == 4


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("{data: {train_batch_size: 8}}", "verl.data.train_batch_size: decided by a stage's batch"),
        ("{trainer.total_training_steps: 3}", "decided by a stage's steps"),
        ("{algorithm: {filter_groups: {enable: true}}}", "a stage's filter, which is bounded"),
        ("{reward: {reward_manager: {name: dapo}}}", "decided by the domain's reward"),
        ("{custom_reward_function: {path: r.py}}", "verl would ignore this key"),
        ("{actor_rollout_ref.rollout.n: 4}", "decided by sampling.n"),
    ],
)
def test_what_the_cascade_file_decides_is_refused_in_a_section(job, section, said):
    with pytest.raises(ConfigError, match="remove it from the verl section") as caught:
        configure.verl_config(job(f"stages.rl.verl={section}"), "m", "cpu", gpus=1)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("megatron", {"lr_decay_style": "cosine", "min_lr": 1e-6}),
        ("veomni", {"lr_scheduler_type": "cosine", "lr_min": 1e-6}),
        ("torchtitan", {"decay_type": "cosine", "min_lr_factor": 0.5}),
    ],
)
def test_another_engine_of_verls_is_told_in_its_own_words(job, engine, words):
    sections = f"verl={{model_engine: {engine}}}"
    actor = configure.verl_config(job(sections), "m", "cuda", gpus=8)["actor_rollout_ref"]["actor"]
    common = {"lr": 2e-6, "betas": [0.9, 0.95], "weight_decay": 0.0, "clip_grad": 0.5}
    assert actor["optim"] == {**common, "lr_warmup_steps": 3, **words}
    assert not {"strategy", "fsdp_config", "grad_clip"} & actor.keys()


def test_torchtitan_has_no_constant_rate_but_one_that_ends_where_it_begins(job):
    changed = ("verl={model_engine: torchtitan}", "stages.rl.optimizer.schedule=constant")
    config = configure.verl_config(job(*changed), "m", "cuda", gpus=8)
    assert flat(config)["actor_rollout_ref.actor.optim.min_lr_factor"] == 1.0


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (
            "{model_engine: megatronn}",
            "no engine 'megatronn'; did you mean 'megatron'? It has: dp,",
        ),
        ("{trainer: {nnodes: 0}}", "verl.trainer.nnodes: must be a positive integer, got 0"),
        ("{trainer.n_gpus_per_node: eight}", "must be a positive integer, got 'eight'"),
        (
            "{trainer.nnodes: 3, actor_rollout_ref.rollout.tensor_model_parallel_size: 16}",
            "16 does not divide the 24 GPUs (trainer.nnodes 3 x trainer.n_gpus_per_node 8)",
        ),
        ("{actor_rollout_ref: {rollout: vllm}}", "must be a section of keys, got 'vllm'"),
    ],
)
def test_what_cannot_be_is_said_with_its_place(job, section, said):
    with pytest.raises(ConfigError, match=r"^verl\.") as caught:
        configure.verl_config(job(f"verl={section}"), "m", "cuda", gpus=8)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (
            "{actor_rollout_ref.rollout.name: vllm}",
            "verl.actor_rollout_ref.rollout.name: 'vllm' is for GPUs; with device: cpu it can only "
            "be 'cascade_rl_cpu'",
        ),
        ("{trainer: {nnodes: 8}}", "verl.trainer.nnodes: 8 is for GPUs"),
        ("{model_engine: megatron}", "verl.model_engine: 'megatron' is for GPUs"),
    ],
)
def test_what_needs_gpus_is_refused_on_a_cpu(job, section, said):
    with pytest.raises(ConfigError, match=r"Set device: cuda, or leave the section out") as caught:
        configure.verl_config(job(f"verl={section}"), "m", "cpu", gpus=1)
    assert said in str(caught.value)
    without = job(f"verl={section}", "verl={}")  # what the message advises
    assert configure.verl_config(without, "m", "cpu", gpus=1)["trainer"]["nnodes"] == 1


def test_a_changed_section_or_backend_is_not_gone_on_with(job):
    def taken(*overrides):
        return take(job(*overrides).cascade, (), {}, 1, "cpu")

    before = taken("verl={trainer.nnodes: 2}")
    assert difference(before, taken("verl={trainer.nnodes: 2}")) == []
    with pytest.raises(RunError, match=r"verl.*2 -> 3"):
        check_resume(before, taken("verl={trainer.nnodes: 3}"))
    with pytest.raises(RunError, match=r"backend: local -> verl"):
        check_resume(taken(), taken("backend=verl"))
    own = difference(before, taken("verl={trainer.nnodes: 2}", "stages.rl.verl={data.x: 1}"))
    assert any("stages[0].verl" in line for line in own)


def test_the_file_of_another_engine_names_it(job):
    config = configure.verl_config(job("verl={model_engine: megatron}"), "m", "cuda", gpus=8)
    file = configure.as_file(config, Path("/runs/c/stages/rl"))
    assert {"override model_engine": "megatron"} in file["defaults"]
    assert "model_engine" not in file


def test_an_evaluation_samples_and_trains_nothing(job):
    config = flat(configure.verl_config(job(stage=None), "m", "cpu", gpus=1))
    assert config["trainer.val_only"] is True
    assert config["trainer.save_freq"] == -1
    assert config["data.max_response_length"] == 6  # the domain's own, not the stage's


def test_the_file_that_verl_reads_is_its_own_configuration_and_ours_on_top(job):
    config = configure.verl_config(job(), "m", "cpu", gpus=1)
    file = yaml.safe_load(yaml.safe_dump(configure.as_file(config, Path("/runs/c/stages/rl"))))
    assert file["defaults"][:2] == ["ppo_trainer", "_self_"]
    assert file["hydra"]["searchpath"] == ["pkg://verl.trainer.config"]
    assert file["data"] == config["data"]


@pytest.mark.parametrize(
    ("rows", "most", "size"), [(96, 20, 16), (8, 64, 8), (7, 3, 1), (12, 1, 1)]
)
def test_micro_batches_divide_a_gpus_rows(rows, most, size):
    assert configure.micro_batch(rows, most) == size


def test_merging_leaves_its_arguments_alone():
    base = {"a": {"b": 1, "c": [1]}, "d": 2}
    assert merged(base, {"a": {"b": 3}}, {"d": {"e": 4}}) == {
        "a": {"b": 3, "c": [1]},
        "d": {"e": 4},
    }
    assert base == {"a": {"b": 1, "c": [1]}, "d": 2}


def test_dotted_keys_are_sections():
    section = {"trainer.nnodes": 2, "trainer": {"logger.x": 1}, "data": {}}
    assert nested(section) == {"trainer": {"nnodes": 2, "logger": {"x": 1}}, "data": {}}


def test_without_verl_the_backend_says_what_to_install(monkeypatch):
    def missing(_name):
        raise version.PackageNotFoundError

    monkeypatch.setattr(version, "version", missing)
    with pytest.raises(
        RunError, match=r"needs verl 0\.9\.1.*pip install 'cascade-rl-trainer\[verl"
    ):
        version.require_verl()


def test_another_verl_is_refused_by_its_version(monkeypatch):
    monkeypatch.setattr(version, "version", lambda _name: "0.10.0")
    with pytest.raises(RunError, match=r"verl 0\.10\.0 is installed.*written for verl 0\.9\.1"):
        version.require_verl()


def test_the_plan_shows_commands_and_settings_and_starts_nothing(job, monkeypatch):
    def missing(_name):
        raise version.PackageNotFoundError

    monkeypatch.setattr(version, "version", missing)
    text = VerlBackend().plan(job().cascade)
    assert "-m verl.trainer.main_ppo --config-path" in text
    assert "ppo_mini_batch_size: 12" in text
    assert "verl's own schema was not asked: the verl backend needs verl" in text


def test_a_missing_pack_is_planned_as_far_as_the_file_decides_it(job, monkeypatch, tmp_path):
    """Planned on a machine without GPUs, too; what the file leaves open is named."""
    file = tmp_path / "missing.yaml"
    file.write_text(
        CASCADE.replace("domain: echo", "domain: nowhere").replace("device: cpu", "device: cuda")
    )
    monkeypatch.setattr(version, "version", lambda _: "0.10.0")
    open_budget = trace(*load_config(file), Registry()).planned()
    assert open_budget.stages[0].domains == ()
    text = VerlBackend().plan(open_budget)
    assert "stage rl: not known here: the pack 'nowhere' is missing, and the file" in text
    closed = load_config(file, ["stages.rl.budget.overlong=mask"])
    text = VerlBackend().plan(trace(*closed, Registry()).planned())
    assert "ppo_mini_batch_size: 12" in text
    assert "device: cuda" in text
    assert "schema was not asked: verl 0.10.0 is installed; the verl backend is written" in text


def test_lora_of_the_local_backend_is_refused(job):
    with pytest.raises(ConfigError, match=r"model\.lora is of the local backend.*lora_rank"):
        VerlBackend().plan(job("model.lora={r: 4}").cascade)
