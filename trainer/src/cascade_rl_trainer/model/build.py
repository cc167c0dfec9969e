"""A small Qwen2-style model and a character tokenizer, made from nothing.

For demonstrations and tests: everything the trainer does with a large model works with this
one, in seconds and without a download. It knows nothing until it is trained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascade_rl.config.schema import BuildConfig
from cascade_rl.errors import ConfigError
from cascade_rl_trainer.model.template import CHATML

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, Qwen2ForCausalLM, Qwen2Tokenizer

PAD, START, END = "<pad>", "<|im_start|>", "<|im_end|>"
#: Written by the policy as one token each. They are text, so decoding keeps them.
WORDS = ("<think>", "</think>", "\\boxed{")


def build_tokenizer(context: int) -> Qwen2Tokenizer:
    """Qwen2's byte-level tokenizer without merges: one token an ASCII character, plus marks.

    Every text can be written, so there is no unknown token; a character outside ASCII takes
    two to four tokens. It is of Qwen2's own class because ``AutoTokenizer`` opens the
    tokenizer of a Qwen2 folder with that class whatever the folder says.
    """
    from tokenizers import AddedToken, pre_tokenizers
    from transformers import Qwen2Tokenizer

    tokens = (PAD, START, END, *WORDS, *sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer = Qwen2Tokenizer(
        vocab={token: i for i, token in enumerate(tokens)},
        merges=[],
        unk_token=None,
        pad_token=PAD,
        eos_token=END,
        padding_side="left",
        model_max_length=context,
        chat_template=CHATML,
    )
    tokenizer.add_tokens([AddedToken(START, normalized=False, special=True)])
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in WORDS])
    return tokenizer


def build_model(
    config: BuildConfig, tokenizer: PreTrainedTokenizerBase, seed: int
) -> Qwen2ForCausalLM:
    """A freshly initialised model (float32, CPU); the same seed gives the same weights.

    Raises ``ConfigError`` when the sizes do not fit each other.
    """
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    check_sizes(config)
    shape = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.kv_heads,
        max_position_embeddings=config.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):  # leave the caller's generator as it is
        torch.manual_seed(seed)
        return Qwen2ForCausalLM(shape)


def check_sizes(config: BuildConfig) -> None:
    """Raise ``ConfigError`` unless heads divide the hidden size and kv_heads the heads."""
    if config.hidden_size % (2 * config.heads):
        raise ConfigError(
            f"model.build: hidden_size {config.hidden_size} must be a multiple of twice the "
            f"heads ({config.heads}), as each head has an even number of dimensions"
        )
    if config.heads % config.kv_heads:
        raise ConfigError(
            f"model.build: heads {config.heads} must be a multiple of kv_heads {config.kv_heads}"
        )
