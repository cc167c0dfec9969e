"""The native routes: rewards of a batch or of whole groups, and what is served."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field, JsonValue
from starlette.responses import Response

from cascade_rl.engine import Item
from cascade_rl.engine.records import ScoreRequest, to_record
from cascade_rl.service.domain import ServedDomain
from cascade_rl.service.problems import Refusal, answer
from cascade_rl.service.scoring import Scoring
from cascade_rl.service.strict_json import StrictRoute
from cascade_rl.types import Record, Reward, Status


class RewardItem(ScoreRequest):
    """One completion with what is needed to judge it; ``group`` joins those of one prompt."""

    group: str | int | None = Field(
        default=None, description="Items with one group are one prompt's completions, all of them."
    )


class RewardsRequest(Record):
    """A batch for one domain."""

    domain: str
    options: dict[str, JsonValue] = Field(
        default_factory=dict, description="Only options that /v1/domains lists as remote_options."
    )
    items: tuple[RewardItem, ...]


class RewardRecord(Record):
    """A verdict, as ``cascade score`` writes it, with truncation and the pack's version."""

    id: str | int
    score: float | None = Field(description="Null whenever status is not scored; never a 0.")
    correct: bool | None
    status: Status
    reason: str
    extracted: str | None
    components: dict[str, float | None]
    ms: float | None
    truncated: bool
    pack_version: str | None


class RewardsReply(Record):
    """The verdicts, in the order of the items."""

    domain: str
    rewards: list[RewardRecord]
    shaped: bool | None = Field(
        default=None,
        description="False where a trainer would reshape the whole batch (shape_rewards), which "
        "a service cannot: it sees no batch. Absent elsewhere.",
    )


class DomainInfo(Record):
    """One served domain."""

    name: str
    distribution: str
    version: str
    hooks: list[str]
    options: dict[str, Any] = Field(description="JSON schema of the pack's options.")
    remote_options: list[str] = Field(description="The options that a request may set.")
    ground_truth: dict[str, Any] = Field(description="JSON schema, stated or seen in examples.")


class DomainsReply(Record):
    """All that is served."""

    domains: list[DomainInfo]


def routes(scoring: Scoring) -> APIRouter:
    """``POST /v1/rewards`` and ``GET /v1/domains``."""
    router = APIRouter(route_class=StrictRoute, tags=["native"])

    @router.post("/v1/rewards", response_model=RewardsReply)
    async def rewards(body: RewardsRequest) -> Response:
        """Score a batch of completions. The verdicts come in the order of the items.

        An item without an id gets its place, from 0. Each group must hold one prompt.
        """
        domain = scoring.pick(body.domain)
        groups = _groups(body.items)
        items = [item.to_item(str(place)) for place, item in enumerate(body.items)]
        _check_groups(items, groups)
        found = await scoring.score(domain, items, options=body.options, groups=groups)
        ids = [place if item.id is None else item.id for place, item in enumerate(body.items)]
        return answer(_reply(domain, ids, found))

    @router.get("/v1/domains", response_model=DomainsReply)
    async def domains() -> Response:
        """The served domains, with the schemas of their options and ground truths."""
        infos = [info(domain).model_dump(mode="json") for domain in scoring.domains.values()]
        return answer({"domains": infos})

    return router


def info(domain: ServedDomain) -> DomainInfo:
    """What ``/v1/domains`` says of a domain; values of options are never shown."""
    return DomainInfo(
        name=domain.name,
        distribution=domain.domain.distribution,
        version=domain.domain.version,
        hooks=sorted(domain.domain.hooks),
        options=domain.options_model.model_json_schema(),
        remote_options=domain.remote_options,
        ground_truth=domain.ground_truth,
    )


def record(identity: str | int, reward: Reward) -> dict[str, Any]:
    """One verdict as plain data."""
    more = {"truncated": reward.truncated, "pack_version": reward.pack_version}
    return {**to_record(identity, reward), **more}


def _reply(domain: ServedDomain, ids: list[str | int], rewards: list[Reward]) -> dict[str, Any]:
    records = [record(identity, reward) for identity, reward in zip(ids, rewards, strict=True)]
    reply: dict[str, Any] = {"domain": domain.name, "rewards": records}
    return {**reply, "shaped": False} if domain.shapes_batches else reply


def _groups(items: tuple[RewardItem, ...]) -> list[str | int | None]:
    return [item.group for item in items]


def _check_groups(items: list[Item], groups: list[str | int | None]) -> None:
    first: dict[str | int, Item] = {}
    for item, group in zip(items, groups, strict=True):
        if group is None:
            continue
        other = first.setdefault(group, item).prompt
        if (other.messages, other.ground_truth) != (item.prompt.messages, item.prompt.ground_truth):
            raise Refusal(
                422, "group", f"group {group!r} holds two prompts; a group is one prompt's"
            )
