"""What travels through verl's data: a request with every prompt, a verdict with every sample.

verl knows neither domains nor rewards without a score. Both go as JSON text in columns that it
carries along unread.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from cascade_rl.types import (
    Completion,
    FinishReason,
    LengthBudget,
    Prompt,
    Record,
    Reward,
    SamplingParams,
)
from cascade_rl_trainer.model.template import Template

#: The column of a prompt's row that holds its request.
COLUMN = "cascade_rl"


class Request(Record):
    """A prompt as one step samples it.

    ``seeds`` are the run's seed, the stage's name and the step: with the prompt's id and the
    sample's number they give the seed of a completion, as in the local backend.
    """

    domain: str
    prompt: Prompt
    budget: LengthBudget
    sampling: SamplingParams
    seeds: tuple[int, str, int]

    def encode(self) -> str:
        """ASCII JSON: a prompt may hold lone surrogates, which UTF-8 cannot."""
        return json.dumps(self.model_dump(mode="json"))

    @classmethod
    def decode(cls, text: str) -> Request:
        """The inverse of ``encode``."""
        return cls.model_validate(json.loads(text))


def completion_of(token_ids: Sequence[int], limit: int, template: Template) -> Completion:
    """The completion that a verifier sees; ``limit`` is the most tokens it could have had."""
    return Completion(
        text=template.decode(token_ids),
        finish_reason=finish_reason(token_ids, limit, template.stop_ids),
        tokens=len(token_ids),
    )


def finish_reason(token_ids: Sequence[int], limit: int, stop_ids: Sequence[int]) -> FinishReason:
    """``length`` where the completion filled its limit without a stop token.

    One that ended earlier stopped by itself, whatever token the engine takes for the end.
    """
    stopped = bool(token_ids) and token_ids[-1] in stop_ids
    return "stop" if stopped or len(token_ids) < limit else "length"


def to_wire(reward: Reward) -> dict[str, Any]:
    """verl's form of a reward; the keys below ``reward_extra_info`` never vary.

    Without a score it is NaN: a trainer that overlooked the status would lose the batch's
    loss, not learn a 0.
    """
    score = math.nan if reward.score is None else reward.score
    correct = math.nan if reward.correct is None else float(reward.correct)
    return {
        "reward_score": score,
        "reward_extra_info": {
            "score": score,
            "acc": correct,
            "status": reward.status,
            "truncated": float(reward.truncated),
            "verdict": json.dumps(reward.model_dump(mode="json")),
        },
    }


def from_wire(extra_info: Mapping[str, Any]) -> Reward:
    """The reward that ``to_wire`` took apart."""
    return Reward.model_validate(json.loads(extra_info["verdict"]))
