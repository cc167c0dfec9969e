"""Request bodies read strictly: UTF-8 JSON, without the NaN and infinity that no JSON can hold.

The standard parser accepts them, and what it accepts could not be sent on. Half a surrogate pair
is accepted: a policy can write one, and it must be judged. The content type must say JSON: a web
page cannot send that to another origin without asking first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from cascade_rl.service.problems import Refusal

MAX_DEPTH = 100


class StrictRequest(Request):
    """A request whose ``json`` is strict."""

    async def json(self) -> Any:
        """The body; raises ``Refusal`` 400."""
        try:
            text = (await self.body()).decode()
            value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            raise Refusal(400, "not_json", f"the body is not JSON: {error}"[:300]) from None
        _check_depth(value)
        return value


class StrictRoute(APIRoute):
    """The route class of every router here."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, given a strict request."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            if request.method == "POST" and not _says_json(request):
                raise Refusal(415, "content_type", "send Content-Type: application/json")
            return await handle(StrictRequest(request.scope, request.receive))

        return strict


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is larger than any number")
    return number


def _check_depth(value: Any) -> None:
    """Refuse what is nested so deep that a later step could fail on it."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    raise Refusal(422, "invalid", f"the body is nested deeper than {MAX_DEPTH} levels")


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _says_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0]
    return kind.strip().lower() == "application/json"
