"""slime's remote reward model: ``--rm-type remote_rm --rm-url http://host:port/slime``.

The whole body of the answer is the reward: a bare number, or with ``?shape=dict`` an object
that ``--reward-key score`` reads. Its client tries ten times on any failure.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, JsonValue
from starlette.responses import Response

from cascade_rl.service.dialects.common import domain_of, item, number
from cascade_rl.service.problems import answer
from cascade_rl.service.scoring import Scoring
from cascade_rl.service.strict_json import StrictRoute

NAME = "slime"


class RemoteSample(BaseModel):
    """One sample."""

    model_config = ConfigDict(extra="ignore")

    prompt: str | list[dict[str, JsonValue]]
    response: str
    label: JsonValue = None


class RewardDict(BaseModel):
    """The answer to ``?shape=dict``."""

    score: float
    correct: bool | None
    reason: str
    extracted: str | None


def routes(scoring: Scoring, described: dict[str, Any]) -> APIRouter:
    """``POST /slime``."""
    router = APIRouter(route_class=StrictRoute, tags=[NAME])

    @router.post("/slime", response_model=float | RewardDict, openapi_extra=described)
    async def remote_rm(
        body: RemoteSample,
        request: Request,
        shape: Annotated[Literal["number", "dict"], Query()] = "number",
    ) -> Response:
        """slime: the reward of one sample."""
        domain = domain_of(request, scoring)
        sample = item(domain, body.prompt, body.label, body.response)
        (reward,) = await scoring.score_apart(domain, [sample])
        score = number(scoring, domain, NAME, reward)
        if shape == "number":
            return answer(score)
        more = {"correct": reward.correct, "reason": reward.reason, "extracted": reward.extracted}
        return answer({"score": score, **more})

    return router
