"""Policies small enough for tests: two layers, sixteen dimensions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cascade_rl.config.schema import BuildConfig, LoraConfig, ModelConfig
from cascade_rl.testing import write_pack
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


ECHO = '''
"""A domain that a character model can learn something of: write the asked letter."""

import os, time
from pydantic import BaseModel
from cascade_rl import Demonstration, LengthBudget, Prompt, Reward, SamplingParams, hookimpl

LETTERS = "abcdefghijklmnopqrst"

class Options(BaseModel):
    model_config = {"extra": "forbid"}
    fault: str = ""
    count: int = 20

def prompts():
    return [Prompt.from_text(f"echo-{c}{d}", c, ground_truth=c) for c in LETTERS for d in "01"]

@hookimpl
def load_prompts(split, options):
    return prompts()[0::2][: options.count] if split == "train" else prompts()[1:17:2]

@hookimpl
def load_demonstrations(split, options):
    shown = load_prompts(split, options)
    return [Demonstration(**p.model_dump(), completion=p.ground_truth) for p in shown]

@hookimpl
def reward(prompt, completion, options):
    text = completion.answer
    if options.fault == "raise": raise ValueError("no such luck")
    if options.fault == "none" : return Reward.unscored("abstained", "cannot tell")
    if options.fault == "constant": return 0.25
    if options.fault == "some" and "q" in text: return Reward.unscored("abstained", "q")
    return Reward.verdict(prompt.ground_truth in text, extracted=text[:20])

@hookimpl
def gold_completion(prompt, options): return None if options.fault else prompt.ground_truth

@hookimpl
def length_budget(): return LengthBudget(prompt_tokens=32, completion_tokens=6, overlong="keep")

@hookimpl
def sampling_params(): return SamplingParams(n=4)
'''


@pytest.fixture
def echo_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The domain ``echo``, installed for one test; gives the folder it lies in."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    module = write_pack(site, "echo", ECHO, distribution="fake-echo")
    yield site
    sys.modules.pop(module, None)
