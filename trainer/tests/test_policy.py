"""Building, loading and saving policies, with and without adapters."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch

from cascade_rl.config.schema import BuildConfig, LoraConfig, ModelConfig
from cascade_rl.errors import ConfigError, RunError
from cascade_rl.types import Prompt
from cascade_rl_trainer.model.build import build_model, build_tokenizer, check_sizes
from cascade_rl_trainer.model.load import (
    load_policy,
    load_trainable,
    save_policy,
    trainable_parameters,
)
from cascade_rl_trainer.model.lora import merged_state

IDS = torch.tensor([[1, 90, 40, 41, 2, 3]])


def logits(policy):
    with torch.no_grad():
        return policy.model(IDS).logits


def test_the_seed_makes_the_weights_and_nothing_else_does():
    tokenizer = build_tokenizer(32)
    config = BuildConfig(hidden_size=16, intermediate_size=16, layers=1, heads=2, kv_heads=1)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, two, other = (build_model(config, tokenizer, s) for s in (1, 1, 2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert not torch.equal(next(one.parameters()), next(other.parameters()))


def test_the_default_model_is_the_demos_size():
    model = build_model(BuildConfig(), build_tokenizer(256), 0)
    # a block: q, o 128 * 128, k, v 128 * 64, biases 256, three of 128 * 256, norms 256
    assert sum(p.numel() for p in model.parameters()) == 262 * 128 + 2 * 147_968 + 128


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ({"hidden_size": 20, "heads": 4}, "hidden_size 20 must be a multiple of twice the heads"),
        ({"heads": 4, "kv_heads": 3}, "heads 4 must be a multiple of kv_heads 3"),
    ],
)
def test_sizes_that_do_not_fit(sizes, why):
    with pytest.raises(ConfigError, match=why):
        check_sizes(BuildConfig(**sizes))


def test_saved_and_loaded_is_the_same_policy(make_policy, tmp_path):
    policy = make_policy()
    save_policy(policy, tmp_path / "saved")
    again = load_policy(ModelConfig(path=str(tmp_path / "saved")), seed=9, cache_dir=tmp_path)
    assert torch.equal(logits(policy), logits(again))
    prompt = Prompt.from_text("a", "é {x}\n", mode="think")
    assert again.template.prompt_ids(prompt) == policy.template.prompt_ids(prompt)
    assert (again.stop_ids, again.pad_id, again.context) == ((2,), 0, 64)


def test_the_saved_folder_opens_without_us(make_policy, tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    policy = make_policy()
    save_policy(policy, tmp_path / "saved")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "saved")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "saved")
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}],
        tokenize=False, add_generation_prompt=True, enable_thinking=False,
    )  # fmt: skip
    assert text == "<|im_start|>user\nhi /no_think<|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.decode(tokenizer(text).input_ids) == text
    assert tokenizer.eos_token == "<|im_end|>"
    assert model.generation_config.eos_token_id == 2


def test_a_folder_given_wins_over_the_configuration(make_policy, tmp_path):
    save_policy(make_policy(seed=3), tmp_path / "stage")
    policy = load_policy(
        ModelConfig(path="nowhere"), seed=0, cache_dir=tmp_path, folder=tmp_path / "stage"
    )
    assert torch.equal(logits(policy), logits(make_policy(seed=3)))


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(RunError, match="does not hold a causal language model"):
        load_policy(ModelConfig(path=str(tmp_path)), seed=0, cache_dir=tmp_path)


def test_a_hub_that_cannot_be_reached(tmp_path, monkeypatch):
    import transformers

    def offline(name, **_options):
        raise OSError(f"We couldn't connect\nto the hub for {name}")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", offline)
    with pytest.raises(RunError, match=r"'org/model'.*no such folder.*couldn't connect"):
        load_policy(ModelConfig(path="org/model"), seed=0, cache_dir=tmp_path)


def trained(policy):
    with torch.no_grad():
        generator = torch.Generator().manual_seed(1)
        for parameter in trainable_parameters(policy).values():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return policy


def test_lora_trains_the_adapters_alone_and_starts_as_the_base(make_policy):
    base, policy = make_policy(), make_policy(lora=True)
    names = list(trainable_parameters(policy))
    assert len(names) == 2 * 2 * 4  # layers, A and B, four projections
    assert all("lora_" in name for name in names)
    assert torch.allclose(logits(base), logits(policy), atol=1e-5)


def test_the_adapters_seed_makes_the_adapters(make_policy):
    one, two, other = (trainable_parameters(make_policy(s, lora=True)) for s in (1, 1, 2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_adapters_are_merged_in_the_saved_folder_and_not_in_memory(make_policy, tmp_path):
    policy = trained(make_policy(lora=True))
    before, state = logits(policy), copy.deepcopy(policy.model.state_dict())
    save_policy(policy, tmp_path / "merged")
    plain = load_policy(ModelConfig(path=str(tmp_path / "merged")), seed=0, cache_dir=tmp_path)
    assert type(plain.model).__name__ == "Qwen2ForCausalLM"
    assert not torch.allclose(before, logits(make_policy()), atol=1e-2)
    assert torch.allclose(logits(plain), before, atol=1e-4)
    assert torch.equal(logits(policy), before)
    assert all(torch.equal(v, state[k]) for k, v in policy.model.state_dict().items())


def test_the_merged_state_has_the_plain_models_names(make_policy):
    assert merged_state(make_policy(lora=True).model).keys() == (
        make_policy().model.state_dict().keys()
    )


def test_trained_weights_can_be_put_back(make_policy):
    policy, fresh = trained(make_policy(lora=True)), make_policy(lora=True)
    state = {n: p.detach().clone() for n, p in trainable_parameters(policy).items()}
    load_trainable(fresh, state)
    assert torch.equal(logits(fresh), logits(policy))
    with pytest.raises(ConfigError, match="another model"):
        load_trainable(make_policy(), state)


def test_targets_that_the_model_lacks(tmp_path):
    config = ModelConfig(build=BuildConfig(), lora=LoraConfig(targets=("query",)))
    with pytest.raises(ConfigError, match=r"\['query'\] are not in this model.*q_proj"):
        load_policy(config, seed=0, cache_dir=tmp_path)


@pytest.mark.parametrize("target", ["lm_head", "embed_tokens"])
def test_embeddings_are_no_targets(tmp_path, target):
    config = ModelConfig(build=BuildConfig(), lora=LoraConfig(targets=("q_proj", target)))
    with pytest.raises(ConfigError, match="include the embeddings"):
        load_policy(config, seed=0, cache_dir=tmp_path)


def test_importing_the_trainer_does_not_load_torch():
    code = (
        "import sys, cascade_rl_trainer, cascade_rl_trainer.model.load;"
        "import cascade_rl_trainer.algorithm.randomness, cascade_rl_trainer.algorithm.schedules;"
        "print([m for m in ('torch', 'transformers', 'peft') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
