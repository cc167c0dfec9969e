"""An id that occurs twice."""

from good_pack import *


@hookimpl
def load_prompts():
    return [question(8, 3), *(question(a, 3) for a in range(1, 60))]
