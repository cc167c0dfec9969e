"""A verifier that ignores the sign."""

from good_pack import *


@hookimpl
def reward(prompt, completion):
    as_positive = prompt.model_copy(update={"ground_truth": abs(prompt.ground_truth)})
    return judge(as_positive, completion.answer.replace("-", ""))
