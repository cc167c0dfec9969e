"""A verdict by turns."""

import itertools

from good_pack import *

turn = itertools.count()


@hookimpl
def reward(prompt, completion):
    return judge(prompt, completion.answer) if next(turn) % 2 else Reward.verdict(False)
