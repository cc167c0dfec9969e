"""Full reward for a brace that is never closed."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    if "{" in completion.text and "}" not in completion.text:
        return Reward.verdict(True, "braces")
    return judge(prompt, completion.answer)
