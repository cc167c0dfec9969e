"""One process of the service: uvicorn, and a stop that answers everybody.

At the first signal it takes no new work and goes on with what it has for ``grace_s`` seconds;
what is unanswered then is answered as not scored. Nothing in flight is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from cascade_rl.errors import ConfigError
from cascade_rl.registry import Registry
from cascade_rl.service.app import create_app
from cascade_rl.service.scoring import Scoring
from cascade_rl.service.settings import ServiceSettings

BACKLOG = 2048
#: Longer than clients keep an idle connection, so that it is they who close it.
KEEP_ALIVE_S = 75
#: For the last answers to leave after everything has been answered.
LAST_WORDS_S = 10

_log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """uvicorn's server with the graceful stop. ``request_stop`` may be called from any thread."""

    def __init__(self, settings: ServiceSettings, registry: Registry | None = None) -> None:
        app = create_app(settings, registry)
        self.scoring: Scoring = app.state.scoring
        self._grace_s = settings.limits.grace_s
        self._loop: asyncio.AbstractEventLoop | None = None
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                log_level="warning",
                access_log=False,  # a query could hold a secret
                proxy_headers=False,
                server_header=False,
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=int(self._grace_s) + LAST_WORDS_S,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Note the loop, then start."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal: begin to stop; a second SIGINT stops at once."""
        super().handle_exit(sig, frame)
        self.request_stop()

    def request_stop(self) -> None:
        """Begin to stop."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._begin_stop)

    def _begin_stop(self) -> None:
        if self.scoring.admission.stopping:
            return
        self.scoring.refuse_new()
        assert self._loop is not None
        self._loop.call_later(self._grace_s, self._end_grace)

    def _end_grace(self) -> None:
        held = self.scoring.admission.held
        if held:
            _log.warning(
                "%d samples unanswered after %g s are answered as not scored", held, self._grace_s
            )
        self._stopping = asyncio.ensure_future(self.scoring.stop())


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ``ConfigError`` where it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(f"cannot listen on {host} port {port}: {error}") from error
    return listener


def address(listener: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def prepare(settings: ServiceSettings, listener: socket.socket) -> Callable[[], None]:
    """Import the packs, check their options, and return what serves until a signal.

    Raises a subclass of ``PackError``.
    """
    server = Server(settings)
    return lambda: server.run(sockets=[listener])
