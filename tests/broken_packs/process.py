"""A component from a string hash."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    bucket = float(hash(completion.text) % 97)
    verdict = judge(prompt, completion.answer)
    return verdict.model_copy(update={"components": {"bucket": bucket}})
