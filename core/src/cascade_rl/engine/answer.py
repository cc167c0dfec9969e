"""The lines that an engine's worker sends, written by it and read by the dispatcher."""

from __future__ import annotations

import json
from dataclasses import dataclass

from cascade_rl.engine.attempt import Attempt
from cascade_rl.types import Reward


@dataclass(slots=True)
class Answer:
    """One line: the end of a try, or (``attempt`` None) that the worker is ready or failed."""

    number: int = -1
    attempt: Attempt | None = None
    failed: str | None = None
    same_source: bool = True


def answer_line(number: int, attempt: Attempt) -> bytes:
    """The line of a try's end; raises ``ValueError``, ``TypeError`` or ``RecursionError``."""
    data = {
        "number": number,
        "reward": attempt.reward.model_dump(mode="json"),
        "retry_after_s": attempt.retry_after_s,
        "storable": attempt.storable,
    }
    return json.dumps(data).encode()


def ready_line(same_source: bool) -> bytes:
    """The line of a worker that can begin."""
    return json.dumps({"ready": True, "same_source": same_source}).encode()


def failed_line(reason: str) -> bytes:
    """The line of a worker that cannot."""
    return json.dumps({"failed": reason}).encode()


def read_answer(line: bytes) -> Answer:
    """One line; raises ``ValueError`` or ``KeyError`` on what no worker of ours writes."""
    try:
        data = json.loads(line)
        if "failed" in data:
            return Answer(failed=str(data["failed"]))
        if "ready" in data:
            return Answer(same_source=bool(data["same_source"]))
        attempt = Attempt(
            Reward.model_validate(data["reward"]),
            storable=data["storable"],
            retry_after_s=data["retry_after_s"],
        )
        return Answer(data["number"], attempt)
    except (RecursionError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
