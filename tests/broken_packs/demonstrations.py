"""Demonstrations without a completion."""

from good_pack import *


@hookimpl
def load_demonstrations():
    return [question(a, 3) for a in range(1, 60)]
