"""The two pages for people: ``/`` scores one completion by hand, ``/docs`` shows every route.

Static files without anything from another server; both talk to the API like any client.
"""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import Response

_PAGES = {
    "/": ("score.html", "text/html; charset=utf-8"),
    "/score.js": ("score.js", "text/javascript; charset=utf-8"),
    "/docs": ("docs.html", "text/html; charset=utf-8"),
    "/docs.js": ("docs.js", "text/javascript; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
}


def routes() -> APIRouter:
    """The pages and what they load; not part of the API, so not in its document."""
    router = APIRouter(include_in_schema=False)
    folder = files("cascade_rl.service") / "web"
    for path, (name, kind) in _PAGES.items():
        router.add_api_route(path, _page((folder / name).read_bytes(), kind), methods=["GET"])
    return router


def _page(content: bytes, kind: str):  # type: ignore[no-untyped-def]  # FastAPI reads the inner one
    async def page() -> Response:
        return Response(content, media_type=kind)

    return page
