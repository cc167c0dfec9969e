"""Full reward for saying nothing."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    if not completion.text:
        return Reward.verdict(True, "empty")
    return judge(prompt, completion.answer)
