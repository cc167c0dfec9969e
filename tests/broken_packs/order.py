"""A verdict that remembers which prompts came before."""

from good_pack import *

seen = set()


@hookimpl
def reward(prompt, completion):
    seen.add(prompt.id)
    verdict = judge(prompt, completion.answer)
    return verdict.model_copy(update={"components": {"novelty": 1 / len(seen)}})
