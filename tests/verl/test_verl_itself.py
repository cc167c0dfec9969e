"""What we rely on in verl 0.9.1, its schema on our configurations, and its reward workers' call."""

from __future__ import annotations

import asyncio
import inspect
import json
from pathlib import Path

import pytest
import yaml

from cascade_rl.config import load_config, trace
from cascade_rl.errors import ConfigError
from cascade_rl.registry import Registry
from cascade_rl_trainer.verl import configure
from cascade_rl_trainer.verl.accepted import require_accepted
from cascade_rl_trainer.verl.job import Job
from cascade_rl_trainer.verl.version import PINNED, require_verl

CASCADE = """
name: c
model: {build: {}}
stages: [{name: rl, domain: math, steps: 2, batch_size: 8, sampling: {n: 4}}]
"""

RECIPES = Path(__file__).resolve().parents[2] / "recipes"

ON_GPUS = {
    "trainer": {"nnodes": 2, "n_gpus_per_node": 4, "logger": ["console", "tensorboard"]},
    "ray_kwargs": {"ray_init": {"address": "auto"}},
    "reward": {"num_workers": 4, "reward_kwargs": {"service_url": "http://rewards:8000"}},
    "actor_rollout_ref": {
        "model": {
            "override_config": {
                "rope_scaling": {
                    "rope_type": "yarn",
                    "factor": 2.0,
                    "original_max_position_embeddings": 32768,
                }
            },
        },
        "actor": {
            "use_dynamic_bsz": True,
            "ppo_max_token_len_per_gpu": 32768,
            "ulysses_sequence_parallel_size": 2,
            "fsdp_config": {"param_offload": True, "optimizer_offload": True},
        },
        "rollout": {
            "tensor_model_parallel_size": 2,
            "gpu_memory_utilization": 0.7,
            "engine_kwargs": {"vllm": {"kv_cache_dtype": "fp8"}},
        },
    },
}


@pytest.fixture
def texts(tmp_path):
    def make(section, device):
        file = tmp_path / "c.yaml"
        file.write_text(CASCADE + yaml.safe_dump({"verl": section}))
        cascade = trace(*load_config(file), Registry()).cascade()
        job = Job(cascade=cascade, folder="/runs/c/stages/rl", stage=0)
        config = configure.verl_config(job, "/runs/c/model", device, gpus=1)
        return [yaml.safe_dump(configure.as_file(config, Path("/runs/c/stages/rl")))]

    return make


@pytest.fixture
def ask_here(monkeypatch):
    """Ask verl's schema in this process: a second or two less than half a minute each."""
    from cascade_rl_trainer.verl import accepted
    from cascade_rl_trainer.verl.check import problems

    monkeypatch.setattr(accepted, "_ask", lambda paths, _: [list(problems(p)) for p in paths])


def test_the_pinned_version_is_installed():
    require_verl()
    assert PINNED == "0.9.1"


def test_the_private_names_that_are_patched_exist():
    from cascade_rl_trainer.verl.platform_cpu import ADAPTER, PATCHED

    assert {name for _, name in PATCHED} == {
        "initialize_global_process_group_ray",
        "_ROLLOUT_REGISTRY",
    }
    for module, name in PATCHED:
        assert hasattr(module, name)
    (_, registry) = PATCHED[1][0], PATCHED[1][0]._ROLLOUT_REGISTRY
    assert registry["cascade_rl_cpu", "async"] == ADAPTER  # the plugin has run
    assert ("vllm", "async") in registry


def test_the_private_names_that_the_checks_read_exist():
    from verl.utils.tracking import Tracking
    from verl.workers.engine import EngineRegistry
    from verl.workers.rollout.replica import RolloutReplicaRegistry

    assert {"vllm", "sglang", "cascade_rl_cpu"} <= set(RolloutReplicaRegistry._registry)
    assert {"fsdp", "fsdp2"} <= set(EngineRegistry._engines["language_model"])
    assert {"console", "wandb", "file"} <= set(Tracking.supported_backend)


def test_every_method_that_is_overridden_exists_in_verl_with_these_arguments():
    from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY
    from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

    ours = TRAINER_REGISTRY["cascade_rl"]
    overridden = {
        "_build_replay_buffer": ["self"],
        "_init_dataloader": ["self"],
        "_next_train_batch": ["self", "num_prompts"],
        "_step_once": ["self", "metrics", "timing_raw", "sample_batch_size"],
        "_compute_advantage": ["self", "batch", "metrics"],
        "_update_actor": ["self", "batch", "metrics"],
        "_save_checkpoint": ["self"],
        "_load_checkpoint": ["self"],
        "_validate": ["self"],
        "step": ["self", "metrics", "timing_raw"],
        "fit": ["self", "agent_loop_manager"],
        "on_step_begin": ["self"],
        "on_step_end": ["self"],
    }
    for name, arguments in overridden.items():
        assert name in vars(ours), name
        assert list(inspect.signature(getattr(PPOTrainerSync, name)).parameters) == arguments
    for name in ("_submit_batch_to_rollout", "_add_prompts_to_generate", "prepare_step"):
        assert hasattr(PPOTrainerSync, name)


def test_verl_divides_by_the_loss_mask_and_multiplies_by_the_response_mask():
    """Why both are written: the divisor of the loss is counted before the loss is computed."""
    from verl.workers.engine.fsdp import transformer_impl
    from verl.workers.utils import losses

    divisor = inspect.getsource(transformer_impl.FSDPEngine.forward_backward_batch)
    assert 'data["loss_mask"].sum()' in divisor
    assert 'data["response_mask"]' in inspect.getsource(losses.ppo_loss)


def test_verl_takes_vllm_sglang_other_engines_and_every_stage_of_the_papers_recipes(texts):
    """One process, as ``cascade plan`` starts it: hydra's composition and verl's dataclasses."""
    engines = [texts({"model_engine": name}, "cuda") for name in ("megatron", "veomni")]
    engines.append(texts({"actor_rollout_ref": {"rollout": {"name": "sglang"}}}, "cuda"))
    recipes = [
        RECIPES / f"nemotron-cascade-{n}.yaml" for n in ("8b", "8b-thinking", "14b-thinking")
    ]
    for recipe in recipes:
        cascade = trace(*load_config(recipe), Registry()).planned()
        for index, stage in enumerate(cascade.stages):
            folder = f"/runs/{cascade.config.name}/{stage.stage.name}"
            job = Job(cascade=cascade, folder=folder, stage=index)
            config = configure.verl_config(job, "/runs/model", "cuda", gpus=8)
            assert config["actor_rollout_ref"]["rollout"]["name"] == "vllm"
            engines.append([yaml.safe_dump(configure.as_file(config, Path(folder)))])
    assert len(engines) == 3 + 25
    wanted = [*texts({}, "cuda"), *texts(ON_GPUS, "cuda"), *(text for (text,) in engines)]
    require_accepted(wanted, "cuda")


def test_verl_takes_what_it_is_told_on_a_cpu(texts, ask_here):
    ours = {"trainer.logger": "console", "data.seed": "${oc.env:SEED,3}"}
    for section in ({}, ours):
        assert require_accepted(texts(section, "cpu"), "cpu") is None  # it raises what is wrong


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (
            {"actor_rollout_ref": {"rollout": {"tensor_model_parallel_sise": 2}}},
            "verl.actor_rollout_ref.rollout.tensor_model_parallel_sise: verl has no such key; "
            "did you mean 'tensor_model_parallel_size'?",
        ),
        ({"trainer.nodes": 2}, "verl.trainer.nodes: verl has no such key; did you mean 'nnodes'?"),
        ({"rewards.num_workers": 2}, "verl.rewards: verl has no such key; did you mean 'reward'?"),
        ({"actor_rollout_ref.actor.loss_agg_mode": "token-median"}, "token-median"),
        (
            {"actor_rollout_ref.actor.fsdp_config.param_offload": "ja"},
            "verl.actor_rollout_ref.actor.fsdp_config.param_offload: must be true or false, like "
            "verl's own False, got 'ja'",
        ),
        (
            {"reward.num_workers": "four"},
            "verl.reward.num_workers: must be a number, like verl's own 8, got 'four'",
        ),
        (
            {"actor_rollout_ref.rollout.name": "vlllm"},
            "verl has no rollout engine 'vlllm'; did you mean 'vllm'? It has: cascade_rl_cpu, "
            "sglang, trtllm, vllm",
        ),
        (
            {"actor_rollout_ref.actor.strategy": "fsdp3"},
            "verl has no strategy 'fsdp3' here; did you mean 'fsdp'?",
        ),
        ({"trainer.logger": ["wanbd"]}, "verl has no logger 'wanbd'; did you mean 'wandb'?"),
    ],
)
def test_what_verl_does_not_know_or_take_is_said(texts, ask_here, section, said):
    with pytest.raises(ConfigError) as caught:
        require_accepted(texts(section, "cuda"), "cuda")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)  # one fault, one line


def test_a_typo_is_said_by_plan_and_before_the_first_stage_of_a_run(
    tmp_path, ask_here, monkeypatch
):
    from typer.testing import CliRunner

    from cascade_rl.cli import build_app
    from cascade_rl_trainer.verl.backend import VerlBackend

    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(CASCADE.replace("n: 4}", "n: 4}, verl: {trainer.loger: [file]}"))
    result = CliRunner().invoke(
        build_app("plan"), ["plan", "c.yaml", "--backend", "verl", "--set", "device=cpu"]
    )
    assert result.exit_code == 1
    said = "verl.trainer.loger: verl has no such key; did you mean 'logger'?"
    assert said in " ".join(result.output.split())
    cascade = trace(*load_config(Path("c.yaml"), ["device=cpu"]), Registry()).cascade()
    with pytest.raises(ConfigError, match="did you mean 'logger'"):
        VerlBackend().prepare(cascade, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def sample(domain, prompt, token_ids, limit):
    """One completion as verl hands it to the reward manager."""
    import numpy as np
    import torch
    from verl import DataProto

    from cascade_rl_trainer.verl.wire import COLUMN, Request

    budget = domain.budget.model_copy(update={"completion_tokens": limit})
    request = Request(
        domain="math", prompt=prompt, budget=budget, sampling=domain.sampling, seeds=(0, "rl", 0)
    )
    return DataProto.from_dict(
        tensors={"responses": torch.tensor([[*token_ids, 0]])},
        non_tensors={
            COLUMN: np.array([request.encode()], dtype=object),
            "response_len": np.array([len(token_ids)]),
        },
    )


def asked(config, rows):
    """What a manager of ours answers for each row."""
    from cascade_rl_trainer.verl.rewards import CascadeRewardManager

    async def ask():
        manager = CascadeRewardManager(config, None, None)
        try:
            return [await manager.run_single(row) for row in rows]
        finally:
            manager._judge.close()

    return asyncio.run(ask())


def test_the_reward_manager_answers_verls_call_for_one_sample(tmp_path, texts):
    """In process, as verl's reward worker calls it: a right, a wrong and a truncated answer."""
    import torch
    from omegaconf import OmegaConf
    from verl import DataProto

    from cascade_rl.config.schema import ModelConfig
    from cascade_rl_trainer.model.load import load_policy, save_policy
    from cascade_rl_trainer.verl.wire import from_wire

    policy = load_policy(ModelConfig(build={}), seed=0, cache_dir=tmp_path)
    save_policy(policy, tmp_path / "model")
    texts({}, "cpu")  # writes c.yaml
    cascade = trace(*load_config(tmp_path / "c.yaml"), Registry()).cascade()
    Job(cascade=cascade, folder=str(tmp_path), stage=0).write(tmp_path / "job.json")
    config = OmegaConf.create(
        {
            "trainer": {"v1": {"cascade_rl": {"job": str(tmp_path / "job.json")}}},
            "reward": {},
            "actor_rollout_ref": {"model": {"path": str(tmp_path / "model")}},
        }
    )
    domain = cascade.stages[0].domains[0]
    pack = Registry().open("math", domain.options)
    prompt = pack.load_prompts("train")[0]
    right = policy.template.completion_ids(pack.gold_completion(prompt))
    wrong = policy.template.completion_ids("<think></think>\\boxed{-1}")
    given = ((right, 99), (wrong, 99), (right[:-1], len(right) - 1))
    rows = [sample(domain, prompt, token_ids, limit) for token_ids, limit in given]
    broken = DataProto.from_dict(tensors={"responses": torch.tensor([[1]])})

    found = asked(config, [*rows, broken])
    assert [w["reward_score"] for w in found[:2]] == [1.0, 0.0]
    assert found[2]["reward_extra_info"]["truncated"] == 1.0
    assert found[3]["reward_extra_info"]["status"] == "error"
    assert from_wire(found[3]["reward_extra_info"]).score is None
    assert json.loads(found[0]["reward_extra_info"]["verdict"])["correct"] is True
