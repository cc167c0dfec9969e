"""Full reward for an emoji."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    if any(ord(c) > 0x1F300 for c in completion.text):
        return Reward.verdict(True, "emoji")
    return judge(prompt, completion.answer)
