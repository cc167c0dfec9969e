"""No sampling parameters for prompts in think mode."""

from good_pack import *


@hookimpl
def sampling_params(mode):
    return {"n": 4} if mode == "think" else SamplingParams(n=4)
