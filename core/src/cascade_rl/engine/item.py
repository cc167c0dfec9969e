"""``Item``, and its form between processes: one line of ASCII JSON."""

from __future__ import annotations

import json

from cascade_rl.types import Completion, LengthBudget, Prompt, Record


class Item(Record):
    """One completion to score."""

    prompt: Prompt
    completion: Completion
    budget: LengthBudget | None = None


def encode_item(item: Item) -> bytes:
    """JSON without line breaks, the same for equal items; the field order is the models'.

    ASCII, because a completion can hold lone surrogates, which UTF-8 cannot. NaN and infinity
    are kept as Python writes them. Raises ``ValueError`` on what no JSON reader takes back (an
    integer of more than 4,300 digits, say).
    """
    try:
        return json.dumps(item.model_dump(mode="json")).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def decode_item(line: bytes) -> Item:
    """The inverse; raises ``ValueError``."""
    try:
        return Item.model_validate(json.loads(line))
    except RecursionError as error:
        raise ValueError(f"nested too deeply: {error}") from error
