"""Token lists and their brackets: what stands at the top level, and where it falls apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cascade_rl_math.lex import Token
from cascade_rl_math.limits import Unreadable

Tokens = Sequence[Token]


def top_level(tokens: Tokens) -> list[Token]:
    """The tokens outside all brackets."""
    return [token for token, depth in zip(tokens, _depths(tokens), strict=True) if depth == 0]


def split(tokens: Tokens, ends: Callable[[Token], bool]) -> list[Tokens]:
    """The pieces between the separators that stand outside all brackets."""
    pieces: list[Tokens] = []
    start = 0
    for index, (token, depth) in enumerate(zip(tokens, _depths(tokens), strict=True)):
        if depth == 0 and ends(token):
            pieces.append(tokens[start:index])
            start = index + 1
    return [*pieces, tokens[start:]]


def encloses(tokens: Tokens) -> bool:
    """Whether one pair of brackets holds everything."""
    if len(tokens) < 2 or tokens[0].kind != "open" or tokens[-1].kind != "close":
        return False
    depth = 0
    for token in tokens[:-1]:
        depth += (token.kind == "open") - (token.kind == "close")
        if depth == 0:
            return False
    return True


def _depths(tokens: Tokens) -> list[int]:
    """How many brackets each token stands in; a bracket counts as inside itself."""
    depths, depth = [], 0
    for token in tokens:
        depth += token.kind == "open"
        depths.append(depth)
        depth -= token.kind == "close"
        if depth < 0:
            raise Unreadable(f"{token.value!r} closes nothing")
    if depth:
        raise Unreadable("a bracket never closes")
    return depths
