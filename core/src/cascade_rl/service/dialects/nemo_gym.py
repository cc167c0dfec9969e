"""A NeMo Gym resources server: ``/seed_session``, ``/verify``, ``/aggregate_metrics``.

A row's own fields come at the top level of ``/verify`` and go back with the reward. A sample
without a score goes back as Gym's agents send their own failures: ``reward`` 0.0, because its
format must hold a number, under ``_ng_failure_class``, by which Gym keeps the row out of the
rollouts and of every mean and asks again; each is counted in ``cascade_stand_ins_total``.
"""

from __future__ import annotations

import math
import statistics
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.responses import Response

from cascade_rl.service.dialects.common import (
    PATIENCE_S,
    domain_of,
    is_masked,
    item,
    text_of,
)
from cascade_rl.service.domain import ServedDomain
from cascade_rl.service.problems import Refusal, answer
from cascade_rl.service.scoring import Scoring
from cascade_rl.service.strict_json import StrictRoute
from cascade_rl.types import FinishReason, Reward

NAME = "nemo-gym"
TASK, ROLLOUT = "_ng_task_index", "_ng_rollout_index"
FAILURE = "_ng_failure_class"

#: Where a row keeps its ground truth, in the order in which they are looked for.
_TRUTHS = ("ground_truth", "expected_answer", "verifier_metadata")
_NOT_TRUTH = ("responses_create_params", "response", "id", "question", "prompt", "agent_ref")
#: Beyond it a sum or a deviation could overflow.
_LARGEST = 1e100
#: Failures that asking again would not mend.
_TERMINAL = ("abstained", "bad_prompt", "masked")


class GymResponse(BaseModel):
    """What is read of an OpenAI Responses object; the rest goes back untouched."""

    model_config = ConfigDict(extra="allow")

    output: list[dict[str, JsonValue]]
    incomplete_details: dict[str, JsonValue] | None = None


class GymParams(BaseModel):
    """What is read of the request to the model."""

    model_config = ConfigDict(extra="allow")

    input: str | list[dict[str, JsonValue]] = ""


class Verify(BaseModel):
    """A row with the model's response."""

    model_config = ConfigDict(extra="allow")

    responses_create_params: GymParams
    response: GymResponse


class Verified(BaseModel):
    """The row again, with its reward."""

    model_config = ConfigDict(extra="allow")

    reward: float


class AnyFields(BaseModel):
    """Fields that do not matter."""

    model_config = ConfigDict(extra="allow")


class AggregateRequest(BaseModel):
    """Verified rows."""

    verify_responses: list[dict[str, JsonValue]]


class AggregateReply(BaseModel):
    """Means by task and over all."""

    group_level_metrics: list[dict[str, JsonValue]]
    agent_metrics: dict[str, JsonValue]
    key_metrics: dict[str, JsonValue] = Field(description="The headline: the mean reward.")


def routes(scoring: Scoring, described: dict[str, Any]) -> APIRouter:
    """The four routes."""
    router = APIRouter(route_class=StrictRoute, tags=[NAME])

    @router.post("/seed_session", response_model=dict[str, JsonValue], openapi_extra=described)
    async def seed_session(body: AnyFields, request: Request) -> Response:
        """NeMo Gym: nothing to prepare, the verifier keeps no session."""
        del body
        domain_of(request, scoring)
        return answer({})

    @router.post("/verify", response_model=Verified, openapi_extra=described)
    async def verify(body: Verify, request: Request) -> Response:
        """NeMo Gym: judge one response; the row comes back with its reward."""
        domain = domain_of(request, scoring)
        row = body.model_dump(mode="json", exclude_unset=True)
        sample = item(
            domain,
            _turns(body.responses_create_params.input),
            ground_truth(row),
            completion_text(body.response.output),
            identity=str(row.get("id", row.get(TASK, 0))),
            finish_reason=_finish(body.response),
        )
        (reward,) = await scoring.score_apart(domain, [sample], patience_s=PATIENCE_S)
        return answer({**row, **_verdict(scoring, domain, reward)})

    @router.post("/aggregate_metrics", response_model=AggregateReply, openapi_extra=described)
    async def aggregate_metrics(body: AggregateRequest, request: Request) -> Response:
        """NeMo Gym: statistics of the rewards, by task and over all; failures left out."""
        domain_of(request, scoring)
        return answer(aggregate(body.verify_responses))

    @router.get("/reverify_mode", response_model=str, openapi_extra=described)
    async def reverify_mode(request: Request) -> Response:
        """NeMo Gym: stored rollouts can be judged again at any time."""
        domain_of(request, scoring)
        return answer("stateless")

    return router


def ground_truth(row: dict[str, Any]) -> Any:
    """A row's ground truth: a field of that name, or what Gym's own servers call it.

    Rows of the older instruction-following server keep it at the top level.
    """
    for key in _TRUTHS:
        if key in row:
            return row[key]
    return {k: v for k, v in row.items() if k not in _NOT_TRUTH and not k.startswith("_ng_")}


def completion_text(output: list[dict[str, Any]]) -> str:
    """The text of the response's messages; reasoning and tool calls are no part of it."""
    return "".join(text_of(o.get("content")) for o in output if o.get("type") == "message")


def aggregate(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Statistics of the rewards by task and over all rows that are no failures."""
    tasks: dict[int, list[float]] = {}
    for row in rows:
        reward = row.get("reward")
        if FAILURE in row or isinstance(reward, bool) or not isinstance(reward, int | float):
            continue
        if abs(reward) > _LARGEST:
            raise Refusal(422, "invalid", f"a reward is larger than {_LARGEST:g}")
        task = row.get(TASK, 0)
        if not isinstance(task, int):
            raise Refusal(422, "invalid", f"{TASK} is {task!r:.40}, not a whole number")
        tasks.setdefault(task, []).append(float(reward))
    overall = _statistics([value for values in tasks.values() for value in values])
    return {
        "group_level_metrics": [{**_statistics(v), TASK: k} for k, v in sorted(tasks.items())],
        "agent_metrics": overall,
        "key_metrics": {k: v for k, v in overall.items() if k.startswith("mean/")},
    }


def _statistics(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    return {
        "mean/reward": statistics.fmean(values),
        "max/reward": max(values),
        "min/reward": min(values),
        "median/reward": statistics.median(values),
        "std/reward": statistics.stdev(values) if len(values) > 1 else 0.0,
    }


def _turns(given: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """The messages of the model's input; tool calls and reasoning have no role."""
    return given if isinstance(given, str) else [turn for turn in given if "role" in turn]


def _finish(response: GymResponse) -> FinishReason:
    reason = (response.incomplete_details or {}).get("reason")
    return "length" if reason == "max_output_tokens" else "stop"


def _verdict(scoring: Scoring, domain: ServedDomain, reward: Reward) -> dict[str, Any]:
    verdict: dict[str, Any] = {
        "extracted_answer": reward.extracted,
        "reward_reason": reward.reason,
        "reward_status": reward.status,
        "reward_truncated": reward.truncated,
    }
    masked = is_masked(domain, reward)
    if reward.score is not None and not masked:
        verdict["reward"] = reward.score
        return {**verdict, **_components(reward)}
    scoring.metrics.stand_in(domain.name, NAME)
    if scoring.settings.unscored_as is not None:
        return {**verdict, "reward": scoring.settings.unscored_as}
    why = "masked" if masked else reward.status
    failure = {"reward": 0.0, FAILURE: "judge_failed", "_ng_failure_judge_error": reward.reason}
    if why in _TERMINAL:
        failure |= {FAILURE: "skipped", "_ng_failure_terminal": True}
    return {**verdict, **failure}


def _components(reward: Reward) -> dict[str, Any]:
    """Gym's trainer demands that components add up to the reward, so others go by themselves."""
    known = {name: value for name, value in reward.components.items() if value is not None}
    assert reward.score is not None
    if known and math.isclose(sum(known.values()), reward.score, rel_tol=1e-5):
        return {"reward_components": known}
    return {f"component/{name}": value for name, value in known.items()}
