"""Liveness, readiness and metrics."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from cascade_rl.service.metrics import CONTENT_TYPE
from cascade_rl.service.problems import Refusal, answer
from cascade_rl.service.scoring import Scoring
from cascade_rl.types import Record


class Health(Record):
    """The process is alive (``healthy``), or ready to score (``ready``)."""

    status: str


def routes(scoring: Scoring) -> APIRouter:
    """``/healthz``, ``/readyz``, ``/metrics``, and ``/health``, which peers' clients ask."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz", response_model=Health)
    @router.get("/health", response_model=Health)
    async def healthy() -> Response:
        """The process answers. Needs no token."""
        return answer({"status": "healthy"})

    @router.get("/readyz", response_model=Health)
    async def ready() -> Response:
        """Workers have scored an example of every domain; 503 before, and while stopping.

        Needs no token.
        """
        if scoring.admission.stopping:
            raise Refusal(503, "stopping", "the service is stopping", retry_after_s=5)
        if scoring.not_ready:
            scoring.warm_up()
            names = ", ".join(scoring.not_ready)  # the reasons are in the log: no token is asked
            raise Refusal(503, "not_ready", f"not ready: {names}", retry_after_s=1)
        return answer({"status": "ready"})

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        """Prometheus text."""
        return Response(scoring.metrics.text(), media_type=CONTENT_TYPE)

    return router
