"""A regular expression that backtracks without end."""

import re

from good_pack import *


@hookimpl
def reward(prompt, completion):
    re.fullmatch(r"(\(+)+\)", completion.text[:400])
    return judge(prompt, completion.answer)
