"""What runs in a worker process: rebuild one domain by name, then score until hung up on."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from cascade_rl.engine.answer import answer_line, failed_line, ready_line
from cascade_rl.engine.attempt import Attempt
from cascade_rl.engine.item import Item, decode_item
from cascade_rl.engine.verdict import attempt_async, attempt_now, fault, gold_item
from cascade_rl.errors import PackError
from cascade_rl.registry import Domain, Registry
from cascade_rl.registry.source import pack_hash
from cascade_rl.workers import Channel
from cascade_rl.workers.lines import READ_SIZE, LineBuffer, read_lines, write_line


def serve(channel: Channel, init: dict[str, Any]) -> None:
    """The worker's target. Says that it is ready or why it failed, then answers by number."""
    fd, owner = channel.fileno(), os.getpid()
    try:
        domain = Registry().open(init["domain"], init["options"])
        domain.open()
    except PackError as error:
        write_line(fd, failed_line(str(error)))
        return
    write_line(fd, ready_line(_same_source(domain, init["source"])))
    try:
        if init["is_async"]:
            asyncio.run(_serve_async(fd, domain))
        else:
            for line in read_lines(fd):
                number, _, asked = _parse(line)
                attempt = _item(domain, asked)
                if isinstance(attempt, Item):
                    attempt = attempt_now(domain, attempt)
                _write(fd, owner, number, attempt)
    finally:
        domain.close()


async def _serve_async(fd: int, domain: Domain) -> None:
    loop, hung_up, owner = asyncio.get_running_loop(), asyncio.Event(), os.getpid()
    running: set[asyncio.Task[None]] = set()
    buffer = LineBuffer()

    async def answer(line: bytes) -> None:
        number, limit_s, asked = _parse(line)
        attempt = _item(domain, asked)
        if isinstance(attempt, Item):
            attempt = await attempt_async(domain, attempt, limit_s)
        _write(fd, owner, number, attempt)

    def read() -> None:
        try:
            data = os.read(fd, READ_SIZE)
        except ConnectionResetError:
            data = b""
        if not data:
            hung_up.set()
            return
        for line in buffer.feed(data):
            task = loop.create_task(answer(line))
            running.add(task)
            task.add_done_callback(running.discard)

    loop.add_reader(fd, read)
    await hung_up.wait()
    loop.remove_reader(fd)


def _parse(line: bytes) -> tuple[int, float, tuple[bool, bytes]]:
    """(number, limit in seconds, (whether the gold completion is asked for, the item))."""
    head, _, body = line.partition(b"\t")
    data = json.loads(head)
    return data["number"], data["limit_s"], (data["gold"], body)


def _item(domain: Domain, asked: tuple[bool, bytes]) -> Item | Attempt:
    """The item to judge, or the end of the try where there is none."""
    gold, body = asked
    try:
        item = decode_item(body)
    except ValueError as error:
        return fault(error)
    return gold_item(domain, item) if gold else item


def _write(fd: int, owner: int, number: int, attempt: Attempt) -> None:
    if os.getpid() != owner:  # a process that the pack has forked: it has no say here
        os._exit(0)
    try:
        line = answer_line(number, attempt)
    except (ValueError, TypeError, RecursionError) as error:
        line = answer_line(number, fault(error))
    write_line(fd, line)


def _same_source(domain: Domain, source: str | None) -> bool:
    if source is None:
        return True
    try:
        return pack_hash(domain.distribution, domain.announcement.value) == source
    except (OSError, ImportError):
        return False
