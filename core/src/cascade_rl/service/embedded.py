"""A service on a free loopback port in a thread of this process: for tests and notebooks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cascade_rl.errors import RunError
from cascade_rl.registry import Registry
from cascade_rl.service.server import Server, address, bind
from cascade_rl.service.settings import ServiceSettings

START_S = 30.0


@contextmanager
def running(settings: ServiceSettings, registry: Registry | None = None) -> Iterator[str]:
    """Serve until the block ends; gives the URL. Host and port of the settings do not matter."""
    server = Server(settings, registry)
    listener = bind("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + START_S
    try:
        while not server.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                raise RunError("the service did not start; see the log")
            time.sleep(0.005)
        yield address(listener)
    finally:
        server.request_stop()
        thread.join()
        listener.close()
