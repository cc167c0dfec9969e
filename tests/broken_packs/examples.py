"""An example that states another reward than the verifier gives."""

from good_pack import *


@hookimpl
def examples():
    return [
        example("right", "right", "Answer: -5", 1.0),
        example("wrong", "wrong", "Answer: 5", 0.0),
        example("half", "hostile", "Answer: -5?", 0.5),
    ]
