"""Nothing divided by nothing."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    if not completion.text:
        return float("nan")
    return judge(prompt, completion.answer)
