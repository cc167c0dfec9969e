"""Async rewards that share a variable while they wait."""

import asyncio

from good_pack import *

current = None


@hookimpl
async def reward(prompt, completion):
    global current
    current = prompt
    await asyncio.sleep(0.002)
    return judge(current, completion.answer)
