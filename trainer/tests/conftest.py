"""Policies small enough for tests: two layers, sixteen dimensions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cascade_rl.config.schema import BuildConfig, LoraConfig, ModelConfig
from cascade_rl_trainer.model.load import Policy, load_policy

TINY = BuildConfig(hidden_size=16, intermediate_size=24, layers=2, heads=4, kv_heads=2, context=64)


@pytest.fixture
def make_policy(tmp_path: Path) -> Callable[..., Policy]:
    """A fresh tiny policy; ``lora=True`` with adapters, ``scale`` for less even logits."""
    import torch

    def make(seed: int = 0, lora: bool = False, scale: float = 8.0) -> Policy:
        adapters = LoraConfig(r=2, alpha=4) if lora else None
        config = ModelConfig(build=TINY, lora=adapters)
        policy = load_policy(config, seed=seed, cache_dir=tmp_path)
        with torch.no_grad():
            for name, parameter in policy.model.named_parameters():
                if "norm" not in name and "lora_B" not in name:
                    parameter.mul_(scale)
        return policy

    return make
