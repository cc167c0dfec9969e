"""Log-probabilities of completion tokens, differentiable, with little padding.

The rows of a group share their prompt. Where several rows of a micro-batch have the same
prompt, it is read once, and its keys and values serve all of them; gradients flow back
through the cache. Otherwise prompt and completion are read together, padded on the right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from cascade_rl_trainer.local.decoder import positions_of
from cascade_rl_trainer.local.padding import pad_left, pad_right


class TrainRow(NamedTuple):
    """A sequence to train on, as token ids; the completion includes its stop token."""

    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]


def micro_batches(rows: Sequence[TrainRow], size: int) -> Iterator[list[int]]:
    """Places of the rows, at most ``size`` at a time: equal prompts together, short ones first.

    Equal prompts share their reading, and similar lengths need little padding.
    """
    longest: dict[tuple[int, ...], int] = {}
    for row in rows:
        key = tuple(row.prompt_ids)
        longest[key] = max(longest.get(key, 0), len(row.completion_ids))

    def order(place: int) -> tuple[int, tuple[int, ...], int]:
        prompt = tuple(rows[place].prompt_ids)
        return longest[prompt], prompt, len(rows[place].completion_ids)

    places = sorted(range(len(rows)), key=order)
    for start in range(0, len(places), size):
        yield places[start : start + size]


def completion_logprobs(
    model: Any, rows: Sequence[TrainRow], temperature: float, pad_id: int
) -> tuple[Tensor, Tensor]:
    """(log-probabilities, mask), both [rows, longest completion]; the mask is true on tokens.

    The distribution is softmax(logits / temperature), the one that was sampled from before
    top-k and top-p cut it.
    """
    device = next(model.parameters()).device
    targets, mask = pad_right([row.completion_ids for row in rows], pad_id)
    targets, mask = targets.to(device), mask.to(device)
    distinct = {tuple(row.prompt_ids) for row in rows}
    shared = len(distinct) < len(rows) and _shares_cache(model)
    if shared:
        logits = _read_shared(model, rows, targets, mask, pad_id).float()
    else:
        logits = _read_whole(model, rows, targets, pad_id).float()
    if temperature != 1.0:
        logits = logits / temperature
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return -losses.view_as(targets), mask


def _read_whole(model: Any, rows: Sequence[TrainRow], targets: Tensor, pad_id: int) -> Tensor:
    """Logits before each completion token [rows, tokens, vocabulary]."""
    # Padding is on the right, where no causal model looks: no attention mask is needed.
    ids, _ = pad_right([[*row.prompt_ids, *row.completion_ids] for row in rows], pad_id)
    starts = torch.tensor([len(row.prompt_ids) - 1 for row in rows], device=targets.device)
    first, width = int(starts.min()), targets.shape[1]
    out = model(
        input_ids=ids.to(targets.device), use_cache=False, logits_to_keep=ids.shape[1] - first
    )
    logits: Tensor = out.logits
    if bool((starts == first).all()):
        return logits[:, :width]
    places = (starts - first)[:, None] + torch.arange(width, device=targets.device)
    places = places.clamp_(max=logits.shape[1] - 1)
    return logits.gather(1, places[:, :, None].expand(-1, -1, logits.shape[2]))


def _read_shared(
    model: Any, rows: Sequence[TrainRow], targets: Tensor, mask: Tensor, pad_id: int
) -> Tensor:
    """As ``_read_whole``, each distinct prompt read once."""
    distinct = list(dict.fromkeys(tuple(row.prompt_ids) for row in rows))
    place = {prompt: i for i, prompt in enumerate(distinct)}
    ids, seen = pad_left(distinct, pad_id)
    ids, seen = ids.to(targets.device), seen.to(targets.device)
    head = model(
        input_ids=ids,
        attention_mask=seen.long(),
        position_ids=positions_of(seen),
        use_cache=True,
        logits_to_keep=1,
    )
    index = torch.tensor([place[tuple(row.prompt_ids)] for row in rows], device=targets.device)
    first: Tensor = head.logits[index]
    if targets.shape[1] == 1:
        return first
    cache = head.past_key_values
    cache.reorder_cache(index)
    attended = torch.cat([seen[index], mask[:, :-1]], dim=1)
    rest = model(
        input_ids=targets[:, :-1],
        attention_mask=attended.long(),
        position_ids=positions_of(attended)[:, ids.shape[1] :],
        past_key_values=cache,
        use_cache=True,
    )
    return torch.cat([first, rest.logits], dim=1)


def _shares_cache(model: Any) -> bool:
    """Whether the model keeps plain keys and values, through which gradients can flow."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer

    config = model.config
    if getattr(model, "_is_stateful", False) or getattr(model, "is_gradient_checkpointing", False):
        return False
    return all(type(layer) is DynamicLayer for layer in DynamicCache(config=config).layers)
