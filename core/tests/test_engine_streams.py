"""Streams: in order or as they finish, from threads and coroutines, always bounded."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future

import pytest

from cascade_rl import Completion, Prompt, Reward
from cascade_rl.engine import Item, RewardEngine, streams
from cascade_rl.engine.room import Room
from cascade_rl.testing import BARE_PACK

PACK = (
    """
import time
"""
    + BARE_PACK
    + """

@hookimpl
def reward(completion):
    if completion.text == "slow": time.sleep(1.0)
    return 99.0 if completion.text == "slow" else float(completion.text)
"""
)


@pytest.fixture
def engine(make_pack):
    make_pack("toy", PACK)
    with RewardEngine("toy", workers=2) as opened:
        yield opened


def item(text: object) -> Item:
    return Item(prompt=Prompt.from_text("p", "?"), completion=Completion(text=str(text)))


class ByHand:
    """An engine whose samples are answered by the test."""

    def __init__(self, room: int = 10**9) -> None:
        self.futures: list[Future[Reward]] = []
        self.room = Room(room)

    def submit(self, item: Item) -> Future[Reward]:
        self.room.enter()
        return self._begin()

    async def submit_async(self, item: Item) -> Future[Reward]:
        await self.room.enter_async()
        return self._begin()

    def _begin(self) -> Future[Reward]:
        future: Future[Reward] = Future()
        future.add_done_callback(lambda _: self.room.leave())
        self.futures.append(future)
        return future

    def answer(self, number: int) -> None:
        self.futures[number].set_result(Reward(score=float(number)))


def test_async_for_gives_rewards_as_they_finish(engine):
    async def run() -> list[int]:
        pairs = ((n, item("slow" if n == 0 else n)) for n in range(50))
        return [key async for key, reward in engine.astream(pairs) if reward.score is not None]

    keys = asyncio.run(run())
    assert sorted(keys) == list(range(50))
    assert keys[-1] == 0


def test_ascore_keeps_the_order_and_the_loop_goes_on(engine):
    async def run() -> tuple[list[Reward], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.02)

        ticker = asyncio.create_task(tick())
        rewards = await engine.ascore(item("slow" if n == 3 else n) for n in range(3000))
        ticker.cancel()
        return rewards, ticks

    rewards, ticks = asyncio.run(run())
    assert [r.score for r in rewards] == [99.0 if n == 3 else float(n) for n in range(3000)]
    assert ticks > 10


def test_items_may_arrive_while_rewards_are_given(engine):
    async def run() -> list[int]:
        given: list[int] = []

        async def arriving():
            for n in range(20):
                while len(given) < n:  # each comes only after the last is answered
                    await asyncio.sleep(0.005)
                yield n, item(n)

        async for key, _ in engine.astream(arriving()):
            given.append(key)
        return given

    assert asyncio.run(asyncio.wait_for(run(), 30)) == list(range(20))


def test_nothing_in_gives_nothing_out(engine):
    async def run() -> list[object]:
        return [pair async for pair in engine.astream([])]

    assert asyncio.run(run()) == []
    assert asyncio.run(engine.ascore([])) == []
    assert list(engine.stream([])) == list(engine.in_order([])) == []


def test_a_fault_of_the_source_is_the_callers_and_the_engine_goes_on(engine):
    def broken():
        yield 0, item(0)
        raise KeyError("no more")

    async def run() -> None:
        async for _ in engine.astream(broken()):
            pass

    with pytest.raises(KeyError, match="no more"):
        asyncio.run(run())
    with pytest.raises(KeyError, match="no more"):
        list(engine.stream(broken()))
    assert engine.score([item(5)])[0].score == 5.0


def test_who_stops_listening_leaves_the_engine_free(engine):
    async def run() -> None:
        async for _ in engine.astream((n, item(n)) for n in range(10_000)):
            break

    asyncio.run(run())
    assert [r.score for r in engine.score(map(item, range(100)))] == [float(n) for n in range(100)]


@pytest.mark.parametrize("kind", ["order", "finish"])
def test_a_slow_consumer_holds_the_source_back(kind, monkeypatch):
    monkeypatch.setattr(streams, "WINDOW", 10)
    engine, taken = ByHand(), 0

    def source():
        nonlocal taken
        for n in range(1000):
            taken += 1
            yield n, item(n)

    def answering() -> None:
        for number in range(1000):
            while number >= len(engine.futures):
                time.sleep(0.0005)
            engine.answer(number)

    threading.Thread(target=answering, daemon=True).start()
    run = streams.in_order if kind == "order" else streams.as_finished
    for given, (key, _) in enumerate(run(engine, source()), 1):
        assert taken - given <= 10
        assert kind == "finish" or key == given - 1
        if given == 50:
            time.sleep(0.1)
    assert given == 1000


def test_a_slow_coroutine_holds_the_source_back(monkeypatch):
    monkeypatch.setattr(streams, "WINDOW", 10)

    async def run() -> None:
        engine, taken, given = ByHand(), 0, 0

        def source():
            nonlocal taken
            for n in range(100):
                taken += 1
                yield n, item(n)

        stream = streams.as_finished_async(engine, source())
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.05)
        assert taken <= 11  # the window, and the one that waits to be let in
        for number in range(len(engine.futures)):
            engine.answer(number)
        await asyncio.sleep(0.05)
        assert taken <= 12  # all answered, and one of them taken by the coroutine
        await waiting
        given = 1
        async for _ in stream:
            given += 1
            for future in engine.futures:
                if not future.done():
                    future.set_result(Reward(score=0.0))
            assert taken - given <= 11
        assert (taken, given) == (100, 100)

    asyncio.run(asyncio.wait_for(run(), 20))


def test_the_room_lets_in_as_many_as_it_holds_in_turn():
    room, order = Room(2), []
    room.enter()
    room.enter()

    def wait(name: str) -> None:
        room.enter()
        order.append(name)

    threads = []
    for name in "abc":
        threads.append(threading.Thread(target=wait, args=(name,)))
        threads[-1].start()
        time.sleep(0.05)
    assert order == []
    for count in (1, 2, 3):
        room.leave()
        time.sleep(0.05)
        assert order == list("abc"[:count])
    for thread in threads:
        thread.join()


def test_who_gives_up_waiting_takes_no_place():
    async def run() -> None:
        room = Room(1)
        room.enter()
        waiting = [asyncio.create_task(room.enter_async()) for _ in range(3)]
        await asyncio.sleep(0.01)
        waiting[0].cancel()
        room.leave()
        await asyncio.wait_for(waiting[1], 1)
        room.leave()  # the third's turn comes in the same moment as its end
        waiting[2].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.wait_for(room.enter_async(), 1)

    asyncio.run(run())
