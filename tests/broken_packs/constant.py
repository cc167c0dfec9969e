"""Full reward for giving up."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    if completion.text == "I do not know.":
        return Reward.verdict(True, "constant")
    return judge(prompt, completion.answer)
