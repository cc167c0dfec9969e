"""State that only the thread of `open` has."""

import threading

from good_pack import *
from good_pack import hookimpl

local = threading.local()


@hookimpl
def open():
    local.ready = True


@hookimpl
def reward(prompt, completion):
    if not hasattr(local, "ready"):
        return Reward.verdict(False, "not ready")
    return judge(prompt, completion.answer)
