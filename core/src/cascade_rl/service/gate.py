"""The first thing a request meets: host, token, body size, body time, total time.

Plain ASGI, so that a body that is too large is refused while it arrives, not after.
"""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cascade_rl.service.problems import Refusal
from cascade_rl.service.settings import Limits, ServiceSettings, is_loopback
from cascade_rl.service.tokens import Tokens

#: Answered without a token: a load balancer has none.
OPEN_PATHS = ("/healthz", "/readyz", "/health")
BODY_S = 30.0
_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")

_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        (
            b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            b"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
    ),
]


class Gate:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self._app, self._limits = app, settings.limits
        self._tokens = Tokens(settings.tokens)
        # Without a token, a web page that the user happens to open must not reach a local
        # service through a host name of its own (DNS rebinding).
        unguarded = not settings.tokens and is_loopback(settings.host)
        self._hosts = {*_LOCAL_NAMES, settings.host} if unguarded else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        call = _Call(self._limits, headers, receive, send)
        try:
            self._check(scope, headers)
            async with asyncio.timeout(self._limits.request_s) as clock:
                await self._app(scope, call.receive, call.send)
        except Refusal as refusal:
            await call.refuse(scope, refusal)
        except TimeoutError:
            if not clock.expired():
                raise
            await call.refuse(scope, _too_long(self._limits.request_s))

    def _check(self, scope: Scope, headers: Headers) -> None:
        if self._hosts is not None and _host_name(headers) not in self._hosts:
            raise Refusal(
                400, "host", f"this server is {', '.join(sorted(self._hosts))}, not the Host given"
            )
        if scope["path"] not in OPEN_PATHS and not self._tokens.allow(headers):
            raise Refusal(401, "token", "send a token: Authorization: Bearer …")
        size = headers.get("content-length", "")
        if size.isdigit() and int(size) > self._limits.body_bytes:
            raise _too_large(self._limits.body_bytes)


class _Call:
    """One request: counts what arrives, and knows whether an answer has begun."""

    def __init__(self, limits: Limits, headers: Headers, receive: Receive, send: Send) -> None:
        self._limits, self._receive, self._send = limits, receive, send
        self._size, self._answered = 0, False
        size = headers.get("content-length", "0")
        self._complete = size == "0" and "transfer-encoding" not in headers

    async def receive(self) -> Message:
        if self._complete:  # what follows the body is a disconnect: wait for it without a limit
            return await self._receive()
        try:
            async with asyncio.timeout(BODY_S):
                message = await self._receive()
        except TimeoutError:
            raise Refusal(408, "body_time", f"no part of the body for {BODY_S:g} s") from None
        self._size += len(message.get("body", b""))
        if self._size > self._limits.body_bytes:
            raise _too_large(self._limits.body_bytes)
        self._complete = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._answered = True
            added = [*_HEADERS]
            if not self._complete:  # the rest of the body will not be read
                added.append((b"connection", b"close"))
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await self._send(message)

    async def refuse(self, scope: Scope, refusal: Refusal) -> None:
        if self._answered:
            raise refusal
        await refusal.response()(scope, self._receive, self.send)


def _host_name(headers: Headers) -> str:
    host = headers.get("host", "")
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def _too_large(limit: int) -> Refusal:
    text = f"the body is larger than {limit} bytes; send fewer items"
    return Refusal(413, "body_too_large", text)


def _too_long(seconds: float) -> Refusal:
    return Refusal(
        504,
        "request_time",
        f"not answered within {seconds:g} s; send fewer items, or try again",
        retry_after_s=1,
    )
