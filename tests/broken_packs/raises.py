"""An exception for a completion that cannot be read."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    if "\x00" in completion.text:
        raise ValueError("cannot read this")
    return judge(prompt, completion.answer)
