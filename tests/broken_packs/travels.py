"""Prompts of a class that the other side does not have."""

from good_pack import *
from good_pack import question as plain


class Question(Prompt):
    note: str = "lost on the way"


@hookimpl
def load_prompts():
    for a in range(1, 9):
        for b in range(1, 9):
            yield Question(**plain(a, b).model_dump())
