"""Items to the native request, and its reply back to rewards. Strict about order and ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from cascade_rl.engine import Item
from cascade_rl.errors import CascadeError
from cascade_rl.types import Record, Reward


class BadReply(CascadeError):
    """The reply does not answer the request: no reward of it may be used."""


class Packed(Record):
    """An item ready to send, and the number by which the reply must name its reward."""

    number: int
    body: bytes


def pack(number: int, item: Item) -> Packed:
    """Raises ``ValueError`` for what JSON cannot say: NaN and infinity."""
    prompt, completion = item.prompt, item.completion
    found: dict[str, Any] = {
        "id": number,
        "prompt": [{"role": m.role, "content": m.content} for m in prompt.messages],
        "ground_truth": prompt.ground_truth,
        "completion": completion.text,
    }
    if prompt.mode != "none":
        found["mode"] = prompt.mode
    if completion.finish_reason != "stop":
        found["finish_reason"] = completion.finish_reason
    if item.budget is not None:
        found["budget"] = item.budget.model_dump()
    if prompt.metadata:
        found["metadata"] = prompt.metadata
    text = json.dumps(found, allow_nan=False, separators=(",", ":"))
    return Packed(number=number, body=text.encode("ascii"))


def request(head: bytes, items: Sequence[Packed]) -> bytes:
    """The body of a request; ``head`` is what ``request_head`` made."""
    return b'%s"items":[%s]}' % (head, b",".join(item.body for item in items))


def request_head(domain: str, options: dict[str, Any]) -> bytes:
    """The part of a request that is the same for every batch."""
    fixed: dict[str, Any] = {"domain": domain} | ({"options": options} if options else {})
    return json.dumps(fixed, allow_nan=False).encode()[:-1] + b","


def rewards_in(reply: Any, items: Sequence[Packed]) -> list[Reward]:
    """The rewards of a reply. Raises ``BadReply``."""
    records = reply.get("rewards") if isinstance(reply, dict) else None
    if not isinstance(records, list) or len(records) != len(items):
        got = len(records) if isinstance(records, list) else "no"
        raise BadReply(f"{len(items)} items were sent, {got} rewards came back")
    return [_reward(item.number, record) for item, record in zip(items, records, strict=True)]


def _reward(number: int, record: Any) -> Reward:
    if not isinstance(record, dict) or record.get("id") != number:
        given = record.get("id") if isinstance(record, dict) else record
        raise BadReply(f"the reward of item {number} came back as {given!r:.40}")
    fields = {key: value for key, value in record.items() if key in Reward.model_fields}
    try:
        return Reward.model_validate(fields)
    except ValidationError as error:
        raise BadReply(f"the reward of item {number}: {error.errors()[0]['msg']}") from None
