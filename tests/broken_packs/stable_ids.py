"""Ids from string hashes, which differ from process to process."""

from good_pack import *


@hookimpl
def load_prompts():
    for a in range(1, 9):
        for b in range(1, 9):
            plain = question(a, b)
            yield plain.model_copy(update={"id": f"difference-{hash(plain.text)}"})
