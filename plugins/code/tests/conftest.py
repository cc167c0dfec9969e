"""One warm sandbox for the whole run, closed at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cascade_rl.sandbox import Sandbox, SandboxUnavailable
from cascade_rl_code import Options, workplace

SHARED = Path(__file__).resolve().parents[4] / "shared"


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """The sandbox that the hooks use as well."""
    try:
        yield workplace.sandbox(Options())
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    finally:
        workplace.close()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The reference corpora's folder, which is no part of the repository."""
    if not SHARED.is_dir():
        pytest.skip(f"no reference corpora: {SHARED} does not exist")
    return SHARED


@pytest.fixture(scope="session")
def post(sandbox: Sandbox) -> Iterator[Callable[..., Any]]:
    """POST to the service that serves this pack, in this process: ``post(path, **body)``."""
    httpx = pytest.importorskip("httpx", reason="needs cascade-rl[client]")
    pytest.importorskip("fastapi", reason="needs cascade-rl[service]")
    from cascade_rl.service.app import create_app
    from cascade_rl.service.settings import ServiceSettings

    options = {"memory_mb": 256}
    app = create_app(ServiceSettings(domains={"code": {"workers": 1, "options": options}}))
    with asyncio.Runner() as loop:
        lifespan = app.router.lifespan_context(app)
        loop.run(lifespan.__aenter__())
        transport = httpx.ASGITransport(app)
        client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        yield lambda path, **body: loop.run(client.post(path, json=body, timeout=60))
        loop.run(client.aclose())
        loop.run(lifespan.__aexit__(None, None, None))


@pytest.fixture
def cpp(sandbox: Sandbox) -> str:
    """C++, where its compiler is installed."""
    if "cpp17" not in sandbox.languages():
        pytest.skip("no C++ compiler here: apt-get install g++")
    return "cpp17"
