"""verl's training engines: each has its own words for what the cascade file says.

``dp`` is FSDP, verl's default and the one that is tested here; of the others only the
configuration is checked against verl's schema.
"""

from __future__ import annotations

from collections.abc import Callable

from cascade_rl.config.schema import OptimizerConfig
from cascade_rl.errors import ConfigError
from cascade_rl.registry import did_you_mean
from cascade_rl_trainer.verl.sections import Settings

#: What ``configure`` writes for an actor and only ``dp`` knows.
DP_ONLY = ("strategy", "fsdp_config", "use_torch_compile")


def actor_settings(engine: str, config: OptimizerConfig) -> Settings:
    """The optimizer below ``actor_rollout_ref.actor``; raises ``ConfigError``."""
    if engine not in _ENGINES:
        hint = did_you_mean(engine, _ENGINES, ".")
        raise ConfigError(
            f"verl.model_engine: verl has no engine {engine!r}{hint} It has: {', '.join(_ENGINES)}"
        )
    common = {
        "lr": config.lr,
        "betas": list(config.betas),
        "weight_decay": config.weight_decay,
        "clip_grad": config.max_grad_norm,
        "lr_warmup_steps": config.warmup_steps,
    }
    own = _ENGINES[engine](config)
    return {**own, "optim": {**common, **own["optim"]}}


def _dp(config: OptimizerConfig) -> Settings:
    optim = {"lr_scheduler_type": config.schedule, "min_lr_ratio": config.min_lr / config.lr}
    return {"grad_clip": config.max_grad_norm, "optim": optim}


def _megatron(config: OptimizerConfig) -> Settings:
    return {"optim": {"lr_decay_style": config.schedule, "min_lr": config.min_lr}}


def _veomni(config: OptimizerConfig) -> Settings:
    return {"optim": {"lr_scheduler_type": config.schedule, "lr_min": config.min_lr}}


def _torchtitan(config: OptimizerConfig) -> Settings:
    if config.schedule == "constant":  # it has no such schedule; one that ends where it begins
        return {"optim": {"decay_type": "linear", "min_lr_factor": 1.0}}
    factor = config.min_lr / config.lr
    return {"optim": {"decay_type": config.schedule, "min_lr_factor": factor}}


_ENGINES: dict[str, Callable[[OptimizerConfig], Settings]] = {
    "dp": _dp,
    "megatron": _megatron,
    "veomni": _veomni,
    "torchtitan": _torchtitan,
}
