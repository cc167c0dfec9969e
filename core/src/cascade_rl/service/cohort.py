"""Groups out of single requests: members of one prompt wait until their cohort is complete.

A cohort that is not complete at its deadline is refused as a whole: a group that lacks a member
would get rewards that no trainer asked for.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence

from cascade_rl.engine import Item
from cascade_rl.service.problems import Refusal, Stopping
from cascade_rl.service.settings import Cohort
from cascade_rl.types import Reward

Score = Callable[[Sequence[Item]], Awaitable[list[Reward]]]


class _Open:
    """A cohort that still waits for members."""

    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self.members: list[tuple[Item, asyncio.Future[Reward]]] = []
        self.timer = timer


class Cohorts:
    """The cohorts of one domain. Belongs to the event loop's thread."""

    def __init__(self, cohort: Cohort, score: Score) -> None:
        self._cohort, self._score = cohort, score
        self._open: dict[bytes, _Open] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def join(self, item: Item) -> Reward:
        """The item's reward, once its cohort is complete. Raises ``Refusal`` 422 if it is not."""
        loop, key = asyncio.get_running_loop(), _key(item)
        if key not in self._open:
            timer = loop.call_later(self._cohort.deadline_s, self._expire, key)
            self._open[key] = _Open(timer)
        cohort = self._open[key]
        future: asyncio.Future[Reward] = loop.create_future()
        member = (item, future)
        cohort.members.append(member)
        if len(cohort.members) == self._cohort.size:
            self._complete(key)
        try:
            return await future
        finally:
            if member in cohort.members and self._open.get(key) is cohort:
                cohort.members.remove(member)  # its client has gone: it is no member any more

    def stop(self) -> None:
        """Refuse the members of incomplete cohorts: nobody can join them any more."""
        for key in list(self._open):
            cohort = self._open.pop(key)
            cohort.timer.cancel()
            _refuse(cohort, Stopping())

    def _complete(self, key: bytes) -> None:
        cohort = self._open.pop(key)
        cohort.timer.cancel()
        task = asyncio.create_task(self._answer(cohort.members))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _expire(self, key: bytes) -> None:
        cohort = self._open.pop(key)
        wanted, seconds = self._cohort.size, self._cohort.deadline_s
        text = f"{len(cohort.members)} of {wanted} completions of this prompt came in {seconds:g} s"
        _refuse(cohort, Refusal(422, "cohort_incomplete", text))

    async def _answer(self, members: Sequence[tuple[Item, asyncio.Future[Reward]]]) -> None:
        try:
            rewards = await self._score([item for item, _ in members])
        except Exception as error:
            rewards = [Reward.unscored("error", f"the cohort failed: {error}")] * len(members)
        for (_, future), reward in zip(members, rewards, strict=True):
            if not future.done():
                future.set_result(reward)


def _refuse(cohort: _Open, refusal: Refusal) -> None:
    for _, future in cohort.members:
        if not future.done():
            future.set_exception(refusal)


def _key(item: Item) -> bytes:
    prompt = item.prompt.model_copy(update={"id": "", "metadata": {}})
    return hashlib.sha256(prompt.model_dump_json().encode()).digest()
