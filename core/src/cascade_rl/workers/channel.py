"""A two-way pipe of JSON messages. JSON, never pickle: what a child says is data."""

from __future__ import annotations

import json
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class Channel:
    """JSON messages over an inherited file descriptor."""

    def __init__(self, fd: int) -> None:
        self._connection = Connection(fd)

    def send(self, message: Any) -> None:
        """Write one message; raises ``OSError`` when the other end is gone."""
        self._connection.send_bytes(json.dumps(message, ensure_ascii=True).encode())

    def receive(self) -> Any:
        """Block for one message; raises ``EOFError`` when the other end is gone."""
        return json.loads(self._connection.recv_bytes())

    def poll(self, timeout_s: float | None) -> bool:
        """Whether ``receive`` would return at once within ``timeout_s`` seconds (None: wait)."""
        return self._connection.poll(timeout_s)

    def fileno(self) -> int:
        """The descriptor, for an event loop."""
        return self._connection.fileno()

    def close(self) -> None:
        """Close this end."""
        self._connection.close()


def serve_calls(channel: Channel, function: Callable[[Any], Any]) -> None:
    """Answer messages with ``function`` one by one until the parent hangs up.

    For use as the body of a worker's target. An exception of ``function`` is answered as
    text and raised in the parent as ``CallFailed``. None is a ping, answered with None.
    """
    while True:
        try:
            payload = channel.receive()
        except EOFError:
            return
        try:
            answer = {"ok": None if payload is None else function(payload)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        channel.send(answer)
