"""A gold completion that drops the sign."""

from good_pack import *


@hookimpl
def gold_completion(prompt):
    return f"Answer: {abs(prompt.ground_truth)}"


@hookimpl
def load_demonstrations():
    return [Demonstration(**question(a, 3).model_dump(), completion="?") for a in range(1, 60)]
