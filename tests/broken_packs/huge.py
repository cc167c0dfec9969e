"""Full reward for length."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    if len(completion.text) > 50_000:
        return Reward.verdict(True, "huge")
    return judge(prompt, completion.answer)
