"""Plus-minus signs: one expression for each choice."""

from __future__ import annotations

import itertools

from cascade_rl_math.brackets import Tokens
from cascade_rl_math.lex import Token
from cascade_rl_math.limits import MAX_SIGNS, TooExpensive

_FLIPPED = {"+": "-", "-": "+"}


def choose_signs(tokens: Tokens) -> list[list[Token]]:
    """The tokens once for each choice of signs; with a minus-plus, all signs go together.

    Raises ``TooExpensive`` for more signs than ``MAX_SIGNS``.
    """
    signs = [index for index, token in enumerate(tokens) if token.value in ("±", "∓")]
    if len(signs) > MAX_SIGNS:
        raise TooExpensive(f"{len(signs)} plus-minus signs, at most {MAX_SIGNS} are read")
    together = any(tokens[index].value == "∓" for index in signs)
    choices = (
        [("+",) * len(signs), ("-",) * len(signs)]
        if together
        else list(itertools.product("+-", repeat=len(signs)))
    )
    expressions = []
    for choice in choices:
        written = list(tokens)
        for index, sign in zip(signs, choice, strict=True):
            written[index] = Token("op", _FLIPPED[sign] if tokens[index].value == "∓" else sign)
        expressions.append(written)
    return expressions
