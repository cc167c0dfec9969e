"""Full reward for a NUL character."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    if "\x00" in completion.text:
        return Reward.verdict(True, "nul")
    return judge(prompt, completion.answer)
