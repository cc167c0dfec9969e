"""Reading sampled groups from verl's TransferQueue, and writing masks and advantages back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
import transfer_queue as tq
from tensordict import TensorDict
from torch import Tensor

from cascade_rl_trainer.local.rollout import Group, Rollout
from cascade_rl_trainer.model.template import Template
from cascade_rl_trainer.verl.wire import COLUMN, Request, completion_of, from_wire


class Sampled(NamedTuple):
    """The groups of a batch by their place in the order asked, and each sample's key.

    A group of which the engine gave no completion at all is missing.
    """

    groups: dict[int, Group]
    keys: list[str]


def fetch(batch: Any, template: Template, order: Mapping[str, int]) -> Sampled:
    """The groups in a batch; ``order`` gives the place of each uid. Padding is left out.

    A key is "uid_sample_turn"; a group's samples come in the order of their numbers.
    """
    keys = [k for k, tag in zip(batch.keys, batch.tags, strict=True) if not is_padding(tag)]
    keys.sort(key=lambda key: (order[_uid(key)], int(key.split("_")[1])))
    if not keys:
        return Sampled({}, [])
    fields = [COLUMN, "prompts", "responses", "extra_fields"]
    data = tq.kv_batch_get(keys=keys, partition_id=batch.partition_id, select_fields=fields)
    requests, extras = _plain(data[COLUMN]), _plain(data["extra_fields"])
    prompts, responses = data["prompts"].unbind(), data["responses"].unbind()
    groups: dict[int, Group] = {}
    for place, key in enumerate(keys):
        request = Request.decode(requests[place])
        token_ids = responses[place].tolist()
        limit = request.budget.completion_tokens
        reward = from_wire(extras[place]["reward_extra_info"])
        sample = Rollout(token_ids, completion_of(token_ids, limit, template), reward)
        asked = order[_uid(key)]
        group = groups.setdefault(asked, Group(request.prompt, prompts[place].tolist(), []))
        group.samples.append(sample)
    return Sampled(groups, keys)


def is_padding(tag: Mapping[str, Any]) -> bool:
    """Whether a row was added by verl to fill its batch."""
    return bool(tag.get("is_padding", False))


class RowWeight(NamedTuple):
    """What our verdict on a sample does to its row in verl's batch.

    ``score`` is the final one, for verl's own figures; None where there is none.
    """

    take_part: bool
    advantage: float
    score: float | None


#: Rows that verl added to fill its batch: their masks are 0 already.
_PADDING = RowWeight(take_part=False, advantage=0.0, score=None)


def write_weights(batch: Any, weights: Mapping[str, RowWeight]) -> None:
    """Write each row's advantage and score, and zero the masks of rows that take no part."""
    fields = ["response_mask", "loss_mask", "rm_scores"]
    data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
    found = [weights.get(key, _PADDING) for key in batch.keys]
    columns = weighted_columns({name: data[name].unbind() for name in fields}, found)
    tq.kv_batch_put(
        keys=batch.keys,
        partition_id=batch.partition_id,
        fields=TensorDict(columns, batch_size=len(batch.keys)),
    )


def weighted_columns(
    columns: Mapping[str, Sequence[Tensor]], weights: Sequence[RowWeight]
) -> dict[str, Tensor]:
    """verl's per-token columns of a batch (nested, one row a sample) after our verdicts.

    Both masks are zeroed: verl's loss multiplies by ``response_mask`` and divides by the sum of
    ``loss_mask``.
    """
    rows: dict[str, list[Tensor]] = {name: [] for name in (*columns, "advantages")}
    for place, weight in enumerate(weights):
        part = int(weight.take_part)
        mask = columns["response_mask"][place] * part
        rows["response_mask"].append(mask)
        rows["loss_mask"].append(columns["loss_mask"][place] * part)
        rows["rm_scores"].append(_on_last(columns["rm_scores"][place], weight.score))
        rows["advantages"].append(mask.float() * weight.advantage)
    nested = {
        name: torch.nested.as_nested_tensor(values, layout=torch.jagged)
        for name, values in rows.items()
    }
    return {**nested, "returns": nested["advantages"]}


def drop(keys: Sequence[str], partition: str) -> None:
    """Forget rows that are not trained on."""
    if keys:
        tq.kv_clear(keys=list(keys), partition_id=partition)


def _on_last(values: Tensor, score: float | None) -> Tensor:
    if score is None:
        return values
    placed = torch.zeros_like(values)
    placed[-1] = score
    return placed


def _uid(key: str) -> str:
    return key.split("_")[0]


def _plain(column: Any) -> list[Any]:
    """A column of objects, out of whatever tensordict wraps them in."""
    return [getattr(value, "data", value) for value in column]
