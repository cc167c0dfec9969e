"""Next-token logits for a batch that shrinks: prefill, one token a row at a time, keep rows.

Two implementations behind one small interface. ``ForwardDecoder`` works with every Hugging
Face causal language model; ``LlamaDecoder`` spells out the one-token step of Llama and Qwen2
(half the time for small models, whose forward pass is mostly bookkeeping). ``decoder_for``
chooses. Neither knows about sampling.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F  # noqa: N812  the name that everybody uses
from torch import Tensor

from cascade_rl_trainer.model.lora import linear_weight, unwrap


class Decoder(Protocol):
    """Holds the keys and values of the rows sampled so far."""

    def prefill(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Read left-padded prompts [rows, tokens]; logits of the next token [rows, vocab]."""
        ...

    def select(self, rows: Tensor) -> None:
        """Go on with these rows [new rows] int64, in this order; one may occur repeatedly."""
        ...

    def step(self, tokens: Tensor) -> Tensor:
        """Append one token a row [rows]; logits of the next [rows, vocab]."""
        ...


def decoder_for(model: Any, max_tokens: int) -> Decoder:
    """The fastest decoder that fits ``model``; ``max_tokens`` bounds prompt + completion."""
    return LlamaDecoder(model, max_tokens) if _is_plain_llama(model) else ForwardDecoder(model)


def _is_plain_llama(model: Any) -> bool:
    config = unwrap(model).config
    if config.model_type not in ("llama", "qwen2") or config.hidden_act != "silu":
        return False
    if getattr(unwrap(model), "is_quantized", False):  # its weights are not plain matrices
        return False
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    # other kinds of RoPE change with the sequence's length
    return rope in ("default", "linear", "llama3", "yarn") and kinds == {"full_attention"}


def positions_of(mask: Tensor) -> Tensor:
    """Position of each token of left-padded rows; padding gets 0."""
    return (mask.long().cumsum(1) - 1).clamp_(min=0)


class ForwardDecoder:
    """The model's own forward pass with its own cache."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._cache: Any = None
        self._mask = torch.empty(0)

    def prefill(self, ids: Tensor, mask: Tensor) -> Tensor:
        """See ``Decoder``."""
        out = self._model(
            input_ids=ids,
            attention_mask=mask.long(),
            position_ids=positions_of(mask),
            use_cache=True,
            logits_to_keep=1,
        )
        self._cache, self._mask = out.past_key_values, mask.long()
        logits: Tensor = out.logits[:, -1]
        return logits

    def select(self, rows: Tensor) -> None:
        """See ``Decoder``."""
        self._cache.reorder_cache(rows)
        self._mask = self._mask[rows]

    def step(self, tokens: Tensor) -> Tensor:
        """See ``Decoder``."""
        self._mask = F.pad(self._mask, (0, 1), value=1)
        out = self._model(
            input_ids=tokens[:, None],
            attention_mask=self._mask,
            position_ids=self._mask.sum(1, keepdim=True) - 1,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self._cache = out.past_key_values
        logits: Tensor = out.logits[:, -1]
        return logits


class _Layer(NamedTuple):
    """The weights of one block, adapters merged in, biases or None beside them."""

    norm_in: Tensor
    norm_out: Tensor
    q: tuple[Tensor, Tensor | None]
    k: tuple[Tensor, Tensor | None]
    v: tuple[Tensor, Tensor | None]
    o: tuple[Tensor, Tensor | None]
    gate: tuple[Tensor, Tensor | None]
    up: tuple[Tensor, Tensor | None]
    down: tuple[Tensor, Tensor | None]


class LlamaDecoder:
    """One-token steps of Llama and Qwen2 over a preallocated cache.

    The cache of a layer is [rows, kv heads, capacity, head dimension]; query heads that
    share a key head are treated as queries of one attention call, so nothing is repeated.
    """

    def __init__(self, model: Any, max_tokens: int) -> None:
        inner = unwrap(model)
        config, self._body = inner.config, inner.model
        self._prefill = ForwardDecoder(model)
        self._layers = [_layer(block) for block in self._body.layers]
        self._head = _linear(inner.lm_head)
        self._eps = float(config.rms_norm_eps)
        self._kv_heads = int(config.num_key_value_heads)
        self._head_dim = int(self._body.layers[0].self_attn.head_dim)
        self._max_tokens = max_tokens
        embedding = self._body.embed_tokens.weight
        positions = torch.arange(max_tokens, device=embedding.device)[None]
        cos, sin = self._body.rotary_emb(embedding[:1, None], positions)
        self._cos, self._sin = cos[0], sin[0]
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        self._length = 0
        self._bias: Tensor | None = None
        self._position = torch.empty(0)

    def prefill(self, ids: Tensor, mask: Tensor) -> Tensor:
        """See ``Decoder``."""
        logits = self._prefill.prefill(ids, mask)
        layers = self._prefill._cache.layers
        self._length = ids.shape[1]
        self._keys = [layer.keys for layer in layers]
        self._values = [layer.values for layer in layers]
        self._prefill._cache = None
        self._position = mask.sum(1)
        hidden = ~mask.bool()
        if hidden.any():
            self._bias = torch.zeros(hidden.shape, dtype=logits.dtype, device=ids.device)
            self._bias.masked_fill_(hidden, -torch.inf)
        return logits

    def select(self, rows: Tensor) -> None:
        """See ``Decoder``."""
        self._keys = [self._with_room(k, rows) for k in self._keys]
        self._values = [self._with_room(v, rows) for v in self._values]
        self._position = self._position[rows]
        self._bias = None if self._bias is None else self._bias[rows]

    def step(self, tokens: Tensor) -> Tensor:
        """See ``Decoder``."""
        if self._length == self._keys[0].shape[2]:
            self.select(torch.arange(len(tokens), device=tokens.device))
        rotation = (self._cos[self._position][:, None], self._sin[self._position][:, None])
        bias = self._attention_bias()
        hidden = F.embedding(tokens, self._body.embed_tokens.weight)
        for index, layer in enumerate(self._layers):
            hidden = hidden + self._attend(index, layer, hidden, rotation, bias)
            x = self._norm(hidden, layer.norm_out)
            hidden = hidden + F.linear(
                F.silu(F.linear(x, *layer.gate)) * F.linear(x, *layer.up), *layer.down
            )
        self._length += 1
        self._position = self._position + 1
        return F.linear(self._norm(hidden, self._body.norm.weight), *self._head)

    def _attend(
        self,
        index: int,
        layer: _Layer,
        hidden: Tensor,
        rotation: tuple[Tensor, Tensor],
        bias: Tensor | None,
    ) -> Tensor:
        rows, end = len(hidden), self._length + 1
        x = self._norm(hidden, layer.norm_in)
        heads = (rows, -1, self._head_dim)
        query = _rotate(F.linear(x, *layer.q).view(heads), *rotation)
        keys, values = self._keys[index], self._values[index]
        keys[:, :, self._length] = _rotate(F.linear(x, *layer.k).view(heads), *rotation)
        values[:, :, self._length] = F.linear(x, *layer.v).view(heads)
        mixed = F.scaled_dot_product_attention(
            query.view(rows, self._kv_heads, -1, self._head_dim),
            keys[:, :, :end],
            values[:, :, :end],
            attn_mask=bias,
        )
        return F.linear(mixed.reshape(rows, -1), *layer.o)

    def _attention_bias(self) -> Tensor | None:
        if self._bias is None:
            return None
        self._bias = F.pad(self._bias, (0, 1))
        return self._bias[:, None, None]

    def _norm(self, hidden: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(hidden, weight.shape, weight, self._eps)

    def _with_room(self, cache: Tensor, rows: Tensor) -> Tensor:
        """The chosen rows in a buffer that can grow, by a half at a time."""
        capacity = min(max(self._length + 64, self._length * 3 // 2), self._max_tokens)
        _, heads, _, dimension = cache.shape
        room = cache.new_empty((len(rows), heads, capacity, dimension))
        room[:, :, : self._length] = cache[rows, :, : self._length]
        return room


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding of [rows, heads, dimension]; halves, as in Llama's weights."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def _linear(layer: Any) -> tuple[Tensor, Tensor | None]:
    return linear_weight(layer), getattr(layer, "base_layer", layer).bias


def _layer(block: Any) -> _Layer:
    attention, mlp = block.self_attn, block.mlp
    return _Layer(
        norm_in=block.input_layernorm.weight,
        norm_out=block.post_attention_layernorm.weight,
        q=_linear(attention.q_proj),
        k=_linear(attention.k_proj),
        v=_linear(attention.v_proj),
        o=_linear(attention.o_proj),
        gate=_linear(mlp.gate_proj),
        up=_linear(mlp.up_proj),
        down=_linear(mlp.down_proj),
    )
