"""Back-pressure: a counted room that threads and coroutines may wait to enter."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future


class Room:
    """At most ``size`` inside at once; first come, first served."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._waiting: deque[Future[None]] = deque()
        self._lock = threading.Lock()

    def enter(self) -> None:
        """Block until there is room."""
        turn = self._queue()
        if turn is None:
            return
        try:
            turn.result()
        except BaseException:
            self._give_up(turn)
            raise

    async def enter_async(self) -> None:
        """Wait until there is room; the loop goes on meanwhile."""
        turn = self._queue()
        if turn is None:
            return
        try:
            await asyncio.wrap_future(turn)
        except BaseException:
            self._give_up(turn)
            raise

    def leave(self) -> None:
        """Let the next one in."""
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    break
            else:
                self._free += 1
                return
        turn.set_result(None)

    def _queue(self) -> Future[None] | None:
        with self._lock:
            if self._free:
                self._free -= 1
                return None
            turn: Future[None] = Future()
            self._waiting.append(turn)
            return turn

    def _give_up(self, turn: Future[None]) -> None:
        if not turn.cancel():  # the turn had come already
            self.leave()
