"""``AsyncRewardClient``: the engine's calls in an event loop, many small ones sent as one."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

from cascade_rl.client.faults import Unanswered
from cascade_rl.client.transport import Transport
from cascade_rl.client.wire import Packed, pack
from cascade_rl.engine import Item
from cascade_rl.types import Reward

#: How long the first item of a batch waits for company.
LINGER_S = 0.002


class _Call(NamedTuple):
    packed: Packed
    future: asyncio.Future[Reward]
    deadline: float


class AsyncRewardClient:
    """Scores completions of one domain on a reward service.

    Items of concurrent calls travel together, up to ``batch_size`` in a request and
    ``connections`` requests at a time. A request is tried again on faults of the way and on
    overload, each try for ``timeout_s`` seconds at most, until ``deadline_s`` seconds after an
    item was submitted; then the item is unscored (status "error"), never 0. A refusal (wrong
    token, domain or option) is raised as ``ServiceRefused``.

    Belongs to the event loop in which it is made. ``RewardClient`` has all calls, for threads
    and coroutines, in bounded memory.
    """

    def __init__(
        self,
        url: str,
        domain: str,
        options: dict[str, Any] | None = None,
        *,
        token: str | None = None,
        timeout_s: float = 120.0,
        deadline_s: float = 600.0,
        batch_size: int = 64,
        connections: int = 8,
    ) -> None:
        self._transport = Transport(url, domain, options or {}, token, timeout_s, connections)
        self._deadline_s, self._batch_size = deadline_s, batch_size
        self._connections = connections
        self._numbers = itertools.count()
        self._waiting: deque[_Call] = deque()
        self._sending: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def submit(self, item: Item) -> asyncio.Future[Reward]:
        """Start scoring one item."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reward] = loop.create_future()
        try:
            packed = pack(next(self._numbers), item)
        except ValueError as error:
            future.set_result(Reward.unscored("error", f"cannot be sent as JSON: {error}"[:300]))
            return future
        self._waiting.append(_Call(packed, future, time.monotonic() + self._deadline_s))
        if len(self._waiting) >= self._batch_size:
            self._send()
        elif self._timer is None:
            self._timer = loop.call_later(LINGER_S, self._send)
        return future

    async def score(self, items: Iterable[Item]) -> list[Reward]:
        """Rewards in the order of the items."""
        return list(await asyncio.gather(*(self.submit(item) for item in items)))

    async def close(self) -> None:
        """Send what waits, wait for the answers, close the connections."""
        while self._waiting or self._sending:
            self._send()
            await asyncio.wait(self._sending)
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting and len(self._sending) < self._connections:
            count = min(len(self._waiting), self._batch_size)
            batch = [self._waiting.popleft() for _ in range(count)]
            task = asyncio.create_task(self._exchange(batch))
            self._sending.add(task)
            task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self._send()

    async def _exchange(self, batch: list[_Call]) -> None:
        deadline = min(call.deadline for call in batch)
        try:
            rewards = await self._transport.score([call.packed for call in batch], deadline)
        except Unanswered as error:
            rewards = [Reward.unscored("error", str(error))] * len(batch)
        except Exception as error:  # a refusal, or a fault of ours: whoever waits must hear it
            for call in batch:
                if not call.future.done():
                    call.future.set_exception(error)
            return
        for call, reward in zip(batch, rewards, strict=True):
            if not call.future.done():
                call.future.set_result(reward)
