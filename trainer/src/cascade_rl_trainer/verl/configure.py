"""What verl is told about a stage or an evaluation: the paper's algorithm in verl's words.

Plain dictionaries; verl is not imported. Only what differs from verl's defaults, or must not
depend on them, is written. The ``verl:`` sections of the cascade file are merged last
(``sections``) and checked against verl's own schema (``check``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cascade_rl.errors import ConfigError
from cascade_rl_trainer.verl import names
from cascade_rl_trainer.verl.checkpoints import FOLDER
from cascade_rl_trainer.verl.engines import DP_ONLY, actor_settings
from cascade_rl_trainer.verl.job import Job
from cascade_rl_trainer.verl.sections import (
    Settings,
    check_device,
    check_owned,
    check_shape,
    merged,
    nested,
)

JOB_FILE, CONFIG_FILE, AGENT_FILE = "job.json", "verl.yaml", "agent_loop.yaml"
PROMPTS_FILE = "prompts.parquet"
DEFAULT_GPUS = 8  # verl's own; used to plan where no GPU is
_TENSOR = "actor_rollout_ref.rollout.tensor_model_parallel_size"


def verl_config(job: Job, model: str, device: str, gpus: int) -> Settings:
    """The configuration of a run, ``verl:`` sections merged in.

    ``model`` is the folder to start from; ``device`` is cpu or cuda; ``gpus`` is how many a
    node has unless a section says otherwise. Raises ``ConfigError`` for a section that sets
    what the cascade file decides.
    """
    folder, cascade = Path(job.folder), job.cascade
    sections = [nested(cascade.config.verl)]
    sections += [nested(job.trained.config.verl)] if job.stage is not None else []
    base = merged(_common(job, folder, model, gpus), _DEVICES[device](job))
    for section in sections:
        check_shape(section, base)
        check_owned(section)
        check_device(section, device)
    config = merged(base, *sections)
    if config.get("model_engine", "dp") != "dp":
        for key in DP_ONLY:
            config["actor_rollout_ref"]["actor"].pop(key, None)
    return merged(config, _after(job, config))


def has_sections(job: Job) -> bool:
    """Whether the cascade file adds anything of verl's own."""
    return bool(job.cascade.config.verl or (job.stage is not None and job.trained.config.verl))


def agent_loops() -> list[dict[str, str]]:
    """The file that tells verl's workers where our agent loop is."""
    target = "cascade_rl_trainer.verl.agent_loop.CascadeAgentLoop"
    return [{"name": names.AGENT_LOOP, "_target_": target}]


def environment(device: str, threads: int | None = None) -> dict[str, str]:
    """The variables of every process of a run; ``threads`` of a process, on a CPU, default 1."""
    common = {
        "VERL_USE_EXTERNAL_MODULES": names.PLUGIN,
        "RAY_USAGE_STATS_ENABLED": "0",
        "TOKENIZERS_PARALLELISM": "false",
    }
    cpu = {
        "VERL_PLATFORM": names.PLATFORM,
        "VERL_ENGINE_DEVICE": "cuda",  # verl's FSDP engine is registered for cuda and npu only
        "CUDA_VISIBLE_DEVICES": "0",
        "OMP_NUM_THREADS": str(threads or 1),
        "TQ_NUM_THREADS": "1",
    }
    return common | (cpu if device == "cpu" else {})


def _common(job: Job, folder: Path, model: str, gpus: int) -> Settings:
    prompt, completion = _longest(job)
    files = str(folder / PROMPTS_FILE)
    return {
        "data": {
            "train_files": files,
            "val_files": files,
            "max_prompt_length": prompt,
            "max_response_length": completion,
            "filter_overlong_prompts": False,  # done already, with our template
            "shuffle": False,  # the order is ours
            "dataloader_num_workers": 0,
        },
        "actor_rollout_ref": {
            "model": {"path": model},
            "actor": _ACTOR,
            "rollout": _rollout(folder, prompt + completion),
        },
        "algorithm": {
            "adv_estimator": "grpo",
            "norm_adv_by_std_in_grpo": True,
            "use_kl_in_reward": False,
        },
        "reward": {
            "reward_manager": {
                "source": "importlib",
                "name": "CascadeRewardManager",
                "module": {"path": "pkg://cascade_rl_trainer.verl.rewards"},
            },
        },
        "trainer": _trainer(job, folder, gpus),
        "ray_kwargs": {"ray_init": {"runtime_env": {"env_vars": {}}}},
    }


def _longest(job: Job) -> tuple[int, int]:
    """Tokens of the longest prompt and of the longest completion, schedules included."""
    budgets = [d.budget for d in job.domains]
    completions = [b.completion_tokens for b in budgets]
    if job.stage is not None:
        completions += [int(k.value) for k in job.trained.config.schedule.completion_tokens]
    return max(b.prompt_tokens for b in budgets), max(completions)


_ACTOR: Settings = {
    "strategy": "fsdp2",
    "fsdp_config": {"strategy": "fsdp2"},
    "ppo_epochs": 1,  # one update a batch: the ratio is 1, so nothing is clipped
    "use_kl_loss": False,
    "entropy_coeff": 0,
    "loss_agg_mode": "token-mean",
    "checkpoint": {"save_contents": ["model", "optimizer", "extra", "hf_model"]},
}


def _rollout(folder: Path, tokens: int) -> Settings:
    return {
        "name": "vllm",
        "tensor_model_parallel_size": 1,
        # Beyond the model's context verl then refuses to start. Without this it would cut
        # completions there, and call them complete.
        "max_model_len": tokens,
        "agent": {
            "default_agent_loop": names.AGENT_LOOP,
            "agent_loop_config_path": str(folder / AGENT_FILE),
        },
    }


def _trainer(job: Job, folder: Path, gpus: int) -> Settings:
    return {
        "v1": {"trainer_mode": names.TRAINER_MODE, names.TRAINER_MODE: {"job": _job(folder)}},
        "project_name": job.cascade.config.name,
        "experiment_name": folder.name,
        "logger": ["console"],
        "default_local_dir": str(folder / FOLDER),
        "n_gpus_per_node": gpus,
        "test_freq": -1,
    }


def _job(folder: Path) -> str:
    return str(folder / JOB_FILE)


def _cuda(_job: Job) -> Settings:
    return {"trainer": {"device": "cuda"}}


def _cpu(_job: Job) -> Settings:
    precision = {"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"}
    return {
        "actor_rollout_ref": {
            "model": {
                "use_remove_padding": False,
                "enable_gradient_checkpointing": False,
                "override_config": {"attn_implementation": "sdpa"},
            },
            "actor": {
                "use_torch_compile": False,
                "fsdp_config": {
                    "use_torch_compile": False,
                    "dtype": "float32",
                    "mixed_precision": precision,
                },
            },
            "rollout": {
                "name": names.ROLLOUT,
                "dtype": "float32",
                "agent": {"num_workers": 1},
            },
        },
        "reward": {"num_workers": 1},
        "transfer_queue": {"backend": {"SimpleStorage": {"num_data_storage_units": 1}}},
        "trainer": {"device": "cpu", "n_gpus_per_node": 1, "nnodes": 1},
        # One logical GPU. TransferQueue and the worker group hold 5 logical CPUs; with fewer
        # Ray waits for ever without a word.
        "ray_kwargs": {
            "ray_init": {
                "num_gpus": 1,
                "num_cpus": 8,
                "include_dashboard": False,
                "object_store_memory": 200_000_000,
            }
        },
    }


_DEVICES = {"cuda": _cuda, "cpu": _cpu}


def _after(job: Job, config: Settings) -> Settings:
    """What depends on the sections: how rows are split, and the processes' variables."""
    trainer = config["trainer"]
    gpus = _gpus(config)
    variables = environment(trainer["device"], job.cascade.config.threads)
    common: Settings = {"ray_kwargs": {"ray_init": {"runtime_env": {"env_vars": variables}}}}
    if job.stage is None:
        return merged(common, _evaluation(job))
    optimizer = actor_settings(config.get("model_engine", "dp"), job.trained.config.optimizer)
    actor = {"actor_rollout_ref": {"actor": optimizer}}
    return merged(common, _stage(job, gpus), actor)


def _gpus(config: Settings) -> int:
    """How many GPUs all nodes have; raises ``ConfigError`` where a model cannot be spread so."""
    counts = {
        "trainer.nnodes": config["trainer"].get("nnodes", 1),
        "trainer.n_gpus_per_node": config["trainer"]["n_gpus_per_node"],
        _TENSOR: config["actor_rollout_ref"]["rollout"]["tensor_model_parallel_size"],
    }
    for key, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ConfigError(f"verl.{key}: must be a positive integer, got {count!r}")
    nodes, each, parallel = counts.values()
    if nodes * each % parallel:
        raise ConfigError(
            f"verl.{_TENSOR}: {parallel} does not divide the {nodes * each} GPUs "
            f"(trainer.nnodes {nodes} x trainer.n_gpus_per_node {each})"
        )
    return int(nodes * each)


def _stage(job: Job, gpus: int) -> Settings:
    stage, domain = job.trained.config, job.domains[0]
    size = micro_batch(stage.batch_size * domain.sampling.n // gpus, stage.micro_batch)
    return {
        "data": {"train_batch_size": stage.batch_size, "seed": job.cascade.config.seed},
        "actor_rollout_ref": {
            "actor": {
                "ppo_mini_batch_size": stage.batch_size,
                "ppo_micro_batch_size_per_gpu": size,
            },
            "rollout": {
                "n": domain.sampling.n,
                "temperature": domain.sampling.temperature,
                "top_p": domain.sampling.top_p,
                "top_k": domain.sampling.top_k or -1,
                "log_prob_micro_batch_size_per_gpu": size,
            },
        },
        "trainer": {
            "total_training_steps": stage.steps,
            "total_epochs": stage.steps + 1,  # passes are counted by our feed
            "save_freq": job.cascade.config.checkpoint_every,
            "val_before_train": False,
            "resume_mode": "auto",
        },
    }


def _evaluation(_job: Job) -> Settings:
    return {
        "data": {"train_batch_size": 1},
        "actor_rollout_ref": {
            "actor": {"ppo_mini_batch_size": 1, "ppo_micro_batch_size_per_gpu": 1},
            "rollout": {"n": 1, "log_prob_micro_batch_size_per_gpu": 1},
        },
        "trainer": {
            "val_before_train": True,
            "val_only": True,
            "total_training_steps": 1,
            "save_freq": -1,
            "resume_mode": "disable",
        },
    }


def micro_batch(rows: int, most: int) -> int:
    """The largest divisor of a GPU's rows up to ``most``: verl takes no other."""
    return next((size for size in range(min(rows, most), 0, -1) if rows % size == 0), 1)


def as_file(config: dict[str, Any], folder: Path) -> Settings:
    """The configuration as the file that verl's command reads, on top of verl's own defaults."""
    plain = dict(config)
    defaults: list[Any] = ["ppo_trainer", "_self_", {"override hydra/job_logging": "none"}]
    engine = plain.pop("model_engine", None)
    if engine is not None:
        defaults.append({"override model_engine": engine})
    hydra = {
        "searchpath": ["pkg://verl.trainer.config"],
        "run": {"dir": str(folder)},
        "output_subdir": None,
    }
    return {"defaults": defaults, "hydra": hydra, **plain}
