"""The hand-over to the engine: what a caller gives up on is not worked off for nobody."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from cascade_rl import Completion, Prompt, Reward
from cascade_rl.engine import Item
from cascade_rl.service.feeder import MOST_INSIDE, Feeder


class Slow:
    """An engine that answers when it is told to."""

    def __init__(self):
        self.taken = []

    def submit(self, item):
        future = Future()
        self.taken.append((item, future))
        return future

    def answer(self, place):
        self.taken[place][1].set_result(Reward.verdict(True))

    def close(self):
        pass


def items(count, text="x"):
    prompt = Prompt.from_text("p", "?")
    return [Item(prompt=prompt, completion=Completion(text=text))] * count


def test_a_caller_who_gives_up_takes_along_what_still_waits():
    async def run():
        engine = Slow()
        feeder = Feeder(engine, 4)
        given_up = asyncio.create_task(feeder.score(items(100, "abandoned")))
        await asyncio.sleep(0)
        assert len(engine.taken) == 4  # no more than the workers and their next ones
        given_up.cancel()
        later = asyncio.create_task(feeder.score(items(1, "later")))
        await asyncio.sleep(0)
        engine.answer(0)
        while len(engine.taken) < 5:
            await asyncio.sleep(0.001)
        assert engine.taken[4][0].completion.text == "later"
        engine.answer(4)
        assert [r.score for r in await later] == [1.0]

    asyncio.run(asyncio.wait_for(run(), 20))


def test_a_quick_engine_is_given_more_ahead_up_to_a_bound():
    async def run():
        engine = Slow()
        feeder = Feeder(engine, 4)
        task = asyncio.create_task(feeder.score(items(3000)))
        await asyncio.sleep(0)
        most = answered = 0
        while not task.done():
            most = max(most, len(engine.taken) - answered)
            while answered < len(engine.taken):
                engine.answer(answered)
                answered += 1
            await asyncio.sleep(0.001)
        assert 4 < most <= MOST_INSIDE
        assert len(await task) == 3000

    asyncio.run(asyncio.wait_for(run(), 20))
