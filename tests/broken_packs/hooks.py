"""An argument that no hook has."""

from good_pack import *


@hookimpl
def reward(prompt, completon):
    return judge(prompt, completon.answer)
