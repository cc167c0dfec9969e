"""The OpenAPI document, with an example for each served pack that has really been scored."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from cascade_rl.engine import Item
from cascade_rl.service.domain import ServedDomain
from cascade_rl.service.native import record
from cascade_rl.service.problems import answer
from cascade_rl.service.scoring import Scoring
from cascade_rl.types import Example

PATH = "/openapi.json"


def routes(app: FastAPI, scoring: Scoring) -> APIRouter:
    """``GET /openapi.json``; the examples are scored at the first request for it."""
    router = APIRouter(include_in_schema=False)
    made: list[dict[str, Any]] = []
    lock = asyncio.Lock()

    @router.get(PATH)
    async def openapi() -> Response:
        async with lock:
            if not made:
                made.append(await document(app, scoring))
        return answer(made[0])

    return router


async def document(app: FastAPI, scoring: Scoring) -> dict[str, Any]:
    """The document of an application."""
    schema = get_openapi(
        title=app.title, version=app.version, summary=app.summary, routes=app.routes
    )
    operation = schema["paths"]["/v1/rewards"]["post"]
    requests, replies = await worked_examples(scoring)
    operation["requestBody"]["content"]["application/json"]["examples"] = requests
    operation["responses"]["200"]["content"]["application/json"]["examples"] = replies
    schema["components"]["schemas"]["RewardsRequest"]["properties"]["domain"]["enum"] = sorted(
        scoring.domains
    )
    if scoring.settings.tokens:
        _describe_tokens(schema)
    return schema


async def worked_examples(scoring: Scoring) -> tuple[dict[str, Any], dict[str, Any]]:
    """A request and the reply to it, by the name of the pack."""
    requests: dict[str, Any] = {}
    replies: dict[str, Any] = {}
    for name, domain in scoring.domains.items():
        shown = _shown(domain)
        items = [Item(prompt=e.prompt, completion=e.completion) for e in shown]
        rewards = await domain.score(items)
        requests[name] = {"value": {"domain": name, "items": [_request_item(e) for e in shown]}}
        reply: dict[str, Any] = {
            "domain": name,
            "rewards": [record(e.name, r) for e, r in zip(shown, rewards, strict=True)],
        }
        replies[name] = {"value": {**reply, "shaped": False} if domain.shapes_batches else reply}
    return requests, replies


def _shown(domain: ServedDomain) -> list[Example]:
    kinds = ("right", "wrong")
    found = [next((e for e in domain.examples if e.kind == kind), None) for kind in kinds]
    return [example for example in found if example is not None]


def _request_item(example: Example) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": example.name,
        "prompt": example.prompt.text,
        "ground_truth": example.prompt.ground_truth,
        "completion": example.completion.text,
    }
    return item if example.prompt.mode == "none" else {**item, "mode": example.prompt.mode}


def _describe_tokens(schema: dict[str, Any]) -> None:
    schemes = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "basic": {"type": "http", "scheme": "basic", "description": "The token as password."},
        "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
    }
    schema["components"]["securitySchemes"] = schemes
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            if path not in ("/healthz", "/readyz", "/health"):
                operation["security"] = [{name: []} for name in schemes]
