"""The ASGI application: every route, behind one gate."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import cascade_rl
from cascade_rl.registry import Registry
from cascade_rl.service import document, health, native, pages, problems
from cascade_rl.service.dialects import DIALECTS
from cascade_rl.service.dialects.common import PREFIX, domain_parameter
from cascade_rl.service.gate import Gate
from cascade_rl.service.metrics import Metrics
from cascade_rl.service.problems import RESPONSES
from cascade_rl.service.scoring import Scoring
from cascade_rl.service.settings import ServiceSettings

SUMMARY = "Rewards of Cascade RL's domains over HTTP, in its own format and in other trainers'."


def create_app(settings: ServiceSettings, registry: Registry | None = None) -> FastAPI:
    """The application, its packs imported and its options checked.

    Raises a subclass of ``PackError`` for a pack that cannot be used. ``app.state.scoring`` is
    the ``Scoring`` behind the routes.
    """
    scoring = Scoring(settings, registry)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await scoring.start()
        try:
            yield
        finally:
            await scoring.stop()

    app = FastAPI(
        title="Cascade RL rewards",
        summary=SUMMARY,
        version=cascade_rl.__version__,
        lifespan=lifespan,
        openapi_url=None,  # served by `document`, with worked examples
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=RESPONSES,
    )
    app.state.scoring = scoring
    problems.install(app)
    app.include_router(native.routes(scoring))
    app.include_router(health.routes(scoring))
    for prefix in ("", PREFIX):
        described = domain_parameter(scoring, prefixed=bool(prefix))
        for build in DIALECTS:
            router = build(scoring, described)
            if router is not None:
                app.include_router(router, prefix=prefix)
    app.include_router(pages.routes())
    app.include_router(document.routes(app, scoring))
    app.add_middleware(Gate, settings=settings)
    app.add_middleware(_Observed, metrics=scoring.metrics)
    return app


class _Observed:
    """ASGI middleware, outermost: counts every answer and its time."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, code = time.perf_counter(), 0

        async def observe(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, observe)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.request(route, code, time.perf_counter() - started)
