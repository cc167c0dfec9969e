"""Request bodies read strictly: UTF-8 JSON without NaN, infinity, lone surrogates or deep nests.

The standard parser accepts the first three, and what it accepts cannot be sent on.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.responses import Response

from cascade_rl.service.problems import Refusal


class StrictRequest(Request):
    """A request whose ``json`` is strict."""

    async def json(self) -> Any:
        """The body; raises ``Refusal`` 400."""
        try:
            return from_json(await self.body(), allow_inf_nan=False, cache_strings="keys")
        except ValueError as error:
            raise Refusal(400, "not_json", f"the body is not JSON: {error}"[:300]) from None


class StrictRoute(APIRoute):
    """The route class of every router here."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, given a strict request."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strict
