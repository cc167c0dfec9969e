"""The free ``verl:`` sections of a cascade file: how they are merged, and what they may not say."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from cascade_rl.errors import ConfigError
from cascade_rl_trainer.verl import names

Settings = dict[str, Any]

#: verl's keys that the cascade file decides elsewhere, and where.
OWNED = {
    "data.train_batch_size": "a stage's batch_size",
    "data.gen_batch_size": "a stage's batch_size",
    "data.train_files": "the domain's load_prompts",
    "data.val_files": "the domain's load_prompts",
    "data.max_prompt_length": "budget.prompt_tokens",
    "data.max_response_length": "budget.completion_tokens",
    "data.shuffle": "the seed",
    "data.custom_cls": "the domain's load_prompts",
    "actor_rollout_ref.model.path": "model, and the stage before",
    "actor_rollout_ref.actor.ppo_mini_batch_size": "a stage's batch_size (one update a batch)",
    "actor_rollout_ref.actor.ppo_epochs": "nothing: it is one update a batch",
    "actor_rollout_ref.actor.optim.lr": "a stage's optimizer.lr",
    "actor_rollout_ref.actor.optim.betas": "a stage's optimizer.betas",
    "actor_rollout_ref.actor.optim.weight_decay": "a stage's optimizer.weight_decay",
    "actor_rollout_ref.actor.optim.clip_grad": "a stage's optimizer.max_grad_norm",
    "actor_rollout_ref.actor.optim.lr_scheduler_type": "a stage's optimizer.schedule",
    "actor_rollout_ref.actor.optim.lr_warmup_steps": "a stage's optimizer.warmup_steps",
    "actor_rollout_ref.actor.optim.min_lr_ratio": "a stage's optimizer.min_lr",
    "actor_rollout_ref.actor.grad_clip": "a stage's optimizer.max_grad_norm",
    "actor_rollout_ref.rollout.n": "sampling.n",
    "actor_rollout_ref.rollout.temperature": "sampling.temperature",
    "actor_rollout_ref.rollout.top_p": "sampling.top_p",
    "actor_rollout_ref.rollout.top_k": "sampling.top_k",
    "actor_rollout_ref.rollout.val_kwargs": "evaluation and the domain's sampling",
    "actor_rollout_ref.rollout.agent.default_agent_loop": "the backend's own agent loop",
    "actor_rollout_ref.rollout.agent.agent_loop_config_path": "the backend's own agent loop",
    "algorithm.adv_estimator": "the backend (GRPO as in the paper)",
    "algorithm.use_kl_in_reward": "the backend (no KL in the reward)",
    "algorithm.filter_groups": "a stage's filter, which is bounded",
    "reward.reward_manager": "the domain's reward",
    "reward.custom_reward_function": "the domain's reward",
    "trainer.v1": "the backend's own trainer",
    "trainer.use_v1": "the backend's own trainer",
    "trainer.total_training_steps": "a stage's steps",
    "trainer.total_epochs": "a stage's steps",
    "trainer.save_freq": "checkpoint_every",
    "trainer.default_local_dir": "output",
    "trainer.resume_mode": "the run's own record",
    "trainer.resume_from_path": "the run's own record",
    "trainer.val_before_train": "evaluation",
    "trainer.val_only": "evaluation",
    "trainer.test_freq": "evaluation",
    "trainer.device": "device",
    # Old names that verl 0.9.1 still accepts and silently ignores:
    "custom_reward_function": "the domain's reward (and verl would ignore this key)",
    "reward_model": "reward.reward_model (verl would ignore this key)",
    "sandbox_fusion": "the domain's options (verl would ignore this key)",
}


#: Keys of GPUs, and the only value that they have on a CPU.
ON_A_CPU = {
    "actor_rollout_ref.rollout.name": names.ROLLOUT,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 1,
    "actor_rollout_ref.actor.ulysses_sequence_parallel_size": 1,
    "model_engine": "dp",
    "trainer.n_gpus_per_node": 1,
    "trainer.nnodes": 1,
}


def merged(base: Settings, *overlays: Settings) -> Settings:
    """Section by section; whatever is no section is replaced. The arguments stay as they are."""
    result = copy.deepcopy(base)
    for overlay in overlays:
        for key, value in overlay.items():
            both = isinstance(value, dict) and isinstance(result.get(key), dict)
            result[key] = merged(result[key], value) if both else copy.deepcopy(value)
    return result


def nested(section: Mapping[str, Any]) -> Settings:
    """Dotted keys as sections: ``trainer.nnodes: 2`` and ``trainer: {nnodes: 2}`` are one."""
    result: Settings = {}
    for key, value in section.items():
        *path, last = key.split(".")
        plain: Any = nested(value) if isinstance(value, Mapping) else value
        inner: Settings = {last: plain}
        for part in reversed(path):
            inner = {part: inner}
        result = merged(result, inner)
    return result


def leaves(section: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, value) of everything that is no section; an empty section is a value."""
    for key, value in section.items():
        dotted = f"{at}{key}"
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{dotted}.")
        else:
            yield dotted, value


def check_owned(section: Settings) -> None:
    """Raise ``ConfigError`` where a section sets what the cascade file decides elsewhere."""
    found = [
        f"verl.{key}: decided by {where}; remove it from the verl section"
        for key, _ in leaves(section)
        for owned, where in OWNED.items()
        if key == owned or key.startswith(f"{owned}.")
    ]
    if found:
        raise ConfigError("\n".join(found))


def check_device(section: Settings, device: str) -> None:
    """Raise ``ConfigError`` where a section asks for GPUs and the device is a CPU."""
    found = [
        f"verl.{key}: {value!r} is for GPUs; with device: cpu it can only be {ON_A_CPU[key]!r}"
        for key, value in leaves(section)
        if device == "cpu" and key in ON_A_CPU and value != ON_A_CPU[key]
    ]
    if found:
        advice = "Set device: cuda, or leave the section out here: --set 'verl={}'"
        raise ConfigError("\n".join([*found, advice]))


def check_shape(section: Settings, base: Settings, at: str = "verl") -> None:
    """Raise ``ConfigError`` where a section gives one value for what is a section itself."""
    for key, value in section.items():
        below = base.get(key)
        if isinstance(below, dict) and not isinstance(value, dict):
            raise ConfigError(f"{at}.{key}: must be a section of keys, got {value!r}")
        if isinstance(below, dict):
            check_shape(value, below, f"{at}.{key}")
