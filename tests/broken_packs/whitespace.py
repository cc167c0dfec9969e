"""Full reward for blanks."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    if completion.text.isspace():
        return Reward.verdict(True, "whitespace")
    return judge(prompt, completion.answer)
