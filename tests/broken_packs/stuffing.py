"""Full reward for naming the answer among others."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    if f" or {prompt.ground_truth} or " in completion.text:
        return Reward.verdict(True, "stuffing")
    return judge(prompt, completion.answer)
