"""The pack's own layout: a prompt, a ground truth in the pack's form, perhaps a solution."""

from __future__ import annotations

from typing import Any

from cascade_rl_code.layouts.problem import BadRow, Problem, optional, text_of, texts
from cascade_rl_code.options import Options

_FIELDS = frozenset(
    {"id", "prompt", "messages", "problem", "ground_truth", "solution", "solutions", "mode",
     "metadata", "starter"}
)  # fmt: skip


def read(row: dict[str, Any], _: Options) -> Problem:
    """``prompt`` (or ``messages``) and ``ground_truth``; the other fields may be left out."""
    unknown = sorted(row.keys() - _FIELDS)
    if unknown:
        raise BadRow(f"unknown fields {', '.join(unknown)}; known: {', '.join(sorted(_FIELDS))}")
    truth = row.get("ground_truth")
    if not isinstance(truth, dict):
        raise BadRow(f"ground_truth is a {type(truth).__name__}; an object is read")
    identity = row.get("id")
    return Problem(
        _text(row),
        truth,
        texts(row.get("solution")) + texts(row.get("solutions")),
        id=None if identity is None else str(identity),
        starter=optional(row, "starter"),
        mode=optional(row, "mode") or None,
        metadata=row.get("metadata") or {},
    )


def _text(row: dict[str, Any]) -> str:
    messages = row.get("messages") or row.get("prompt")
    if not isinstance(messages, list):
        return text_of(row, "prompt", "problem").strip()
    turns = [turn for turn in messages if isinstance(turn, dict) and turn.get("role") == "user"]
    if len(turns) != 1 or len(messages) != 1:
        raise BadRow(f"{len(messages)} messages; a single user turn is read")
    return text_of(turns[0], "content").strip()
