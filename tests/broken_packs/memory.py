"""A list of everything that could be an answer."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    candidates = b"x" * (len(completion.text) * 2_000)
    return judge(prompt, completion.answer if candidates is not None else "")
