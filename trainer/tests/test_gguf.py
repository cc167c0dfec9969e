"""Finding a GGUF file and turning it into a folder."""

from __future__ import annotations

import pytest
import torch

from cascade_rl.config.schema import ModelConfig
from cascade_rl.errors import RunError
from cascade_rl_trainer.model.gguf import convert_gguf, find_gguf
from cascade_rl_trainer.model.load import load_policy


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "gguf_carrier"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_a_path_or_the_one_file_of_a_package(package):
    file = package / "model.gguf"
    file.write_bytes(b"GGUF")
    assert find_gguf("package:gguf_carrier") == file
    assert find_gguf(str(file)) == file


def test_what_cannot_be_found_is_said(package, tmp_path):
    with pytest.raises(RunError, match=r"no file /nowhere/x\.gguf"):
        find_gguf("/nowhere/x.gguf")
    with pytest.raises(RunError, match="'no_such_package' is not installed"):
        find_gguf("package:no_such_package")
    with pytest.raises(RunError, match="found none"):
        find_gguf("package:gguf_carrier")
    for name in ("a", "b"):
        (package / f"{name}.gguf").write_bytes(b"GGUF")
    with pytest.raises(RunError, match=r"found a\.gguf, b\.gguf; give a path"):
        find_gguf("package:gguf_carrier")


def write_gguf(path):
    """A one-layer Llama with the ChatML tokens, as llama.cpp would write it."""
    import gguf

    words = ["<unk>", "<|im_start|>", "<|im_end|>", *sorted(alphabet()), "ab", "cd"]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_merges(["a b", "c d"])
    writer.add_token_types([3, 3, 3] + [1] * (len(words) - 3))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    generator = torch.Generator().manual_seed(0)
    for name, shape in tensor_shapes(len(words)).items():
        writer.add_tensor(name, torch.randn(shape, generator=generator).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def alphabet():
    from tokenizers import pre_tokenizers

    return pre_tokenizers.ByteLevel.alphabet()


def tensor_shapes(vocabulary):
    return {
        "token_embd.weight": (vocabulary, 32),
        "output_norm.weight": (32,),
        "output.weight": (vocabulary, 32),
        "blk.0.attn_norm.weight": (32,),
        "blk.0.attn_q.weight": (32, 32),
        "blk.0.attn_k.weight": (16, 32),
        "blk.0.attn_v.weight": (16, 32),
        "blk.0.attn_output.weight": (32, 32),
        "blk.0.ffn_norm.weight": (32,),
        "blk.0.ffn_gate.weight": (32, 32),
        "blk.0.ffn_up.weight": (32, 32),
        "blk.0.ffn_down.weight": (32, 32),
    }


def test_a_file_becomes_a_policy_and_is_converted_once(tmp_path):
    file = tmp_path / "small.gguf"
    write_gguf(file)
    config, cache = ModelConfig(gguf=str(file)), tmp_path / "cache"
    policy = load_policy(config, seed=0, cache_dir=cache)
    assert policy.stop_ids == (2,)
    assert policy.tokenizer.eos_token == "<|im_end|>"
    assert {p.dtype for p in policy.model.parameters()} == {torch.float32}
    (folder,) = cache.iterdir()
    changed = folder.stat().st_mtime_ns
    again = load_policy(config, seed=0, cache_dir=cache)
    assert folder.stat().st_mtime_ns == changed
    ids = torch.tensor([[1, 50, 60, 2]])
    with torch.no_grad():
        assert torch.equal(policy.model(ids).logits, again.model(ids).logits)


def test_a_file_that_is_no_model_leaves_nothing_behind(tmp_path):
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"not a model")
    with pytest.raises(RunError, match=r"broken\.gguf cannot be read"):
        convert_gguf(file, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
