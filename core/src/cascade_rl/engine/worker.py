"""What runs in a worker process: rebuild one domain by name, then score until hung up on."""

from __future__ import annotations

import asyncio
from typing import Any

from cascade_rl.engine.verdict import Item, score_async, score_now
from cascade_rl.errors import PackError
from cascade_rl.registry import Domain, Registry
from cascade_rl.workers import Channel


def serve(channel: Channel, init: dict[str, Any]) -> None:
    """The worker's target. Says {"ready": …} or {"failed": …}, then answers items by number."""
    try:
        domain = Registry().open(init["domain"], init["options"])
        domain.open()
    except PackError as error:
        channel.send({"failed": str(error)})
        return
    channel.send({"ready": True})
    try:
        if init["concurrency"] > 1:
            asyncio.run(_serve_async(channel, domain, init["timeout_s"]))
        else:
            _serve_in_turn(channel, domain)
    finally:
        domain.close()


def _serve_in_turn(channel: Channel, domain: Domain) -> None:
    while True:
        try:
            message = channel.receive()
        except EOFError:
            return
        reward = score_now(domain, Item.model_validate(message["item"]))
        channel.send({"number": message["number"], "reward": reward.model_dump(mode="json")})


async def _serve_async(channel: Channel, domain: Domain, timeout_s: float) -> None:
    loop, hung_up = asyncio.get_running_loop(), asyncio.Event()
    running: set[asyncio.Task[None]] = set()

    async def answer(message: dict[str, Any]) -> None:
        reward = await score_async(domain, Item.model_validate(message["item"]), timeout_s)
        channel.send({"number": message["number"], "reward": reward.model_dump(mode="json")})

    def read() -> None:
        try:
            task = loop.create_task(answer(channel.receive()))
        except EOFError:
            hung_up.set()
            return
        running.add(task)
        task.add_done_callback(running.discard)

    loop.add_reader(channel.fileno(), read)
    await hung_up.wait()
    loop.remove_reader(channel.fileno())
