"""Full reward for repeating the prompt."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    if prompt.text in completion.text:
        return Reward.verdict(True, "echo")
    return judge(prompt, completion.answer)
