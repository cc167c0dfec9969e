"""eval-protocol: ``RewardFunction(mode="remote", endpoint="http://host:port/evaluate")``.

Its client sends the whole conversation, whose last assistant turn is the completion, puts extra
arguments at the top level (its server takes them in ``kwargs``), and does not try again. It
reads ``score`` and passes ``is_score_valid`` over, so that a stand-in there would be taken for
a verdict: a sample without a score is an error here.
"""

from __future__ import annotations

from typing import Any, get_args

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.responses import Response

from cascade_rl.service.dialects.common import PATIENCE_S, domain_of, item, number, text_of
from cascade_rl.service.problems import Refusal, answer
from cascade_rl.service.scoring import Scoring
from cascade_rl.service.strict_json import StrictRoute
from cascade_rl.types import FinishReason, Mode

NAME = "eval-protocol"


class Evaluate(BaseModel):
    """A conversation. Of other arguments, here or in ``kwargs``, ``finish_reason`` and ``mode``
    are read.
    """

    model_config = ConfigDict(extra="allow")

    messages: list[dict[str, JsonValue]]
    ground_truth: JsonValue = None


class Metric(BaseModel):
    """One component."""

    score: float
    is_score_valid: bool
    reason: str
    success: bool = Field(description="What the client reads where it means is_score_valid.")


class Evaluated(BaseModel):
    """The verdict."""

    score: float
    is_score_valid: bool
    reason: str
    metrics: dict[str, Metric]


def routes(scoring: Scoring, described: dict[str, Any]) -> APIRouter:
    """``POST /evaluate``, and ``POST /reward``, the same with extras at the top level."""
    router = APIRouter(route_class=StrictRoute, tags=[NAME])

    @router.post("/evaluate", response_model=Evaluated, openapi_extra=described)
    @router.post("/reward", response_model=Evaluated, openapi_extra=described)
    async def evaluate(body: Evaluate, request: Request) -> Response:
        """eval-protocol: judge the last assistant turn of a conversation."""
        domain = domain_of(request, scoring)
        prompt, completion = _split(body.messages)
        extras = _extras(body)
        sample = item(
            domain,
            prompt,
            body.ground_truth,
            completion,
            finish_reason=_choice(extras, "finish_reason", FinishReason) or "stop",
            mode=_choice(extras, "mode", Mode),
        )
        (reward,) = await scoring.score_apart(domain, [sample], patience_s=PATIENCE_S)
        score = number(scoring, domain, NAME, reward)
        valid = reward.score is not None
        metrics = {
            name: {"score": value, "is_score_valid": True, "reason": "", "success": True}
            for name, value in reward.components.items()
            if value is not None
        }
        return answer(
            {"score": score, "is_score_valid": valid, "reason": reward.reason, "metrics": metrics}
        )

    return router


def _split(turns: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    if not turns or turns[-1].get("role") != "assistant":
        raise Refusal(422, "invalid", "the last message must be the assistant's: it is judged")
    return turns[:-1], text_of(turns[-1].get("content"))


def _extras(body: Evaluate) -> dict[str, Any]:
    extras = dict(body.model_extra or {})
    more = extras.pop("kwargs", None) or {}
    if not isinstance(more, dict):
        raise Refusal(422, "invalid", f"kwargs is a {type(more).__name__}, not an object")
    return {**extras, **more}


def _choice(extras: dict[str, Any], key: str, kind: Any) -> Any:
    value = extras.get(key)
    if value is not None and value not in get_args(kind):
        allowed = ", ".join(get_args(kind))
        raise Refusal(422, "invalid", f"{key} is {value!r:.40}; allowed: {allowed}")
    return value
