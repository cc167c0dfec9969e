"""The lines of ``cascade score``: one JSON object in, one out. The service speaks the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import Field, JsonValue, ValidationError

from cascade_rl.engine.item import Item
from cascade_rl.registry import nearest
from cascade_rl.types import (
    Completion,
    FinishReason,
    LengthBudget,
    Message,
    Mode,
    Prompt,
    Record,
    Reward,
)


class ScoreRequest(Record):
    """One completion with what is needed to judge it."""

    id: str | int | None = None
    prompt: str | tuple[Message, ...] = Field(default=(), description="Text, or chat messages.")
    ground_truth: JsonValue
    completion: str
    mode: Mode = "none"
    finish_reason: FinishReason = "stop"
    budget: LengthBudget | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    def to_item(self, default_id: str) -> Item:
        """The engine's form of the request."""
        messages = self.prompt
        if isinstance(messages, str):
            messages = (Message(role="user", content=messages),)
        prompt = Prompt(
            id=default_id if self.id is None else str(self.id),
            messages=messages,
            ground_truth=self.ground_truth,
            mode=self.mode,
            metadata=self.metadata,
        )
        completion = Completion(text=self.completion, finish_reason=self.finish_reason)
        return Item(prompt=prompt, completion=completion, budget=self.budget)


def read_requests(lines: Iterable[bytes]) -> Iterator[tuple[str | int, Item | Reward]]:
    """(id, item) for each line that is not blank; a malformed line is an error reward.

    A line without an id gets its line number, counted from 1.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        identity: str | int = str(number)
        try:
            data = json.loads(line, parse_constant=_refuse_constant)
            if isinstance(data, dict) and isinstance(data.get("id"), (str, int)):
                identity = data["id"]
            yield identity, ScoreRequest.model_validate(data).to_item(str(number))
        except ValidationError as error:
            yield identity, Reward.unscored("error", f"line {number}: {_explain(error)}")
        except (ValueError, RecursionError) as error:
            yield identity, Reward.unscored("error", f"line {number}: not JSON: {error}")


def to_record(identity: str | int, reward: Reward) -> dict[str, Any]:
    """The output line."""
    return {
        "id": identity,
        "score": reward.score,
        "correct": reward.correct,
        "status": reward.status,
        "reason": reward.reason,
        "extracted": reward.extracted,
        "components": reward.components,
        "ms": reward.ms,
    }


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _explain(error: ValidationError) -> str:
    problems = []
    for item in error.errors(include_url=False):
        key = ".".join(str(part) for part in item["loc"]) or "the line"
        if item["type"] == "extra_forbidden":
            known = list(ScoreRequest.model_fields)
            close = nearest(key, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"allowed: {', '.join(known)}"
            problems.append(f"unknown key {key!r}; {hint}")
        elif item["type"] == "missing":
            problems.append(f"key {key!r} is missing")
        else:
            problems.append(f"{key}: {item['msg']} (got {item['input']!r:.60})")
    return "; ".join(problems)
