"""Refusals: each an exception with a code, and the one JSON body that all of them become.

``{"code": "queue_full", "detail": "…"}``, never a copy of the request: what is echoed may be
secret, huge, or not encodable.
"""

from __future__ import annotations

import json
import math
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from cascade_rl.types import Record, Reward, Status


class Problem(Record):
    """The body of every answer that is not a success."""

    code: str = Field(description="A word for programs.")
    detail: str = Field(description="A sentence for people: what was wrong and what is allowed.")
    status: Status | None = Field(default=None, description="Of an unscored sample.")


class Refusal(HTTPException):
    """An answer other than success. ``retry_after_s`` tells the client when to try again.

    An ``HTTPException``, because FastAPI replaces any other kind that reading a body raises.
    """

    def __init__(
        self,
        http: int,
        code: str,
        detail: str,
        *,
        retry_after_s: float | None = None,
        status: Status | None = None,
    ) -> None:
        super().__init__(http, detail)
        self.retry_after_s = retry_after_s
        self.problem = Problem(code=code, detail=detail, status=status)

    def response(self) -> Response:
        """The refusal as HTTP."""
        headers = {}
        if self.retry_after_s is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after_s)))
        body = self.problem.model_dump(exclude_none=True)
        response = answer(body, self.status_code, headers)
        if self.status_code == 401:  # a header each: browsers do not look beyond the first scheme
            for scheme in ("Basic", "Bearer"):
                response.headers.append("WWW-Authenticate", f'{scheme} realm="cascade-rl"')
        return response


class Overloaded(Refusal):
    """The queue is full. A route whose client understands another code passes ``http``."""

    def __init__(self, waiting: int, limit: int, http: int = 503) -> None:
        super().__init__(
            http,
            "queue_full",
            f"{waiting} samples are waiting, the limit is {limit}; try again later",
            retry_after_s=1 + waiting / 2000,
        )


class Stopping(Refusal):
    """The service is shutting down."""

    def __init__(self) -> None:
        super().__init__(503, "stopping", "the service is stopping", retry_after_s=5)


#: HTTP status and code of a sample without a score, where the format has no place for "none".
UNSCORED: dict[Status, tuple[int, str]] = {
    "abstained": (422, "abstained"),
    "bad_prompt": (422, "bad_prompt"),
    "timeout": (504, "verifier_timeout"),
    "error": (502, "verifier_error"),
}


def unscored(reward: Reward, where: str = "") -> Refusal:
    """The refusal for a sample that has no score after all retries."""
    http, code = UNSCORED[reward.status]
    detail = f"{where}not scored ({reward.status}): {reward.reason}"
    return Refusal(http, code, detail, status=reward.status)


def answer(content: Any, http: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON in ASCII: text that is no valid Unicode cannot break an answer. Raises on NaN."""
    body = json.dumps(content, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return Response(body, http, headers, media_type="application/json")


#: What any route may answer besides its own result, for the OpenAPI document.
RESPONSES: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem, "description": text}
    for code, text in {
        400: "The body is not JSON, or the Host header is not this server's.",
        401: "The token is missing or wrong.",
        404: "No such route, or the domain is not served.",
        408: "The body did not arrive in time.",
        413: "The body or the batch is too large.",
        415: "The body's type is not application/json.",
        422: "The request does not fit, or a sample cannot be scored as it is.",
        502: "The verifier failed, also when tried again.",
        503: "The queue is full or the service is stopping; see Retry-After.",
        504: "The time limit of the request, or the verifier's, was reached.",
    }.items()
}


def install(app: FastAPI) -> None:
    """Make every error of an application one of ours."""

    @app.exception_handler(Refusal)
    async def refused(_: Request, error: Refusal) -> Response:
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return Refusal(422, "invalid", "; ".join(map(_explain, error.errors()[:8]))).response()

    @app.exception_handler(HTTPException)
    async def http_error(_: Request, error: HTTPException) -> Response:
        response = Refusal(error.status_code, "http", str(error.detail)).response()
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    async def fault(_: Request, error: Exception) -> Response:
        detail = f"a fault of the service itself: {type(error).__name__}"
        return Refusal(500, "fault", detail).response()


def _explain(item: Any) -> str:
    where = ".".join(str(part) for part in item["loc"] if part != "body") or "body"
    if item["type"] == "extra_forbidden":
        return f"{where}: unknown field"
    return f"{where}: {item['msg']}"[:300]
