"""Tokens to nodes: where an answer falls apart into members, ends, sides and labels.

Splitting happens at the top level of brackets only. What is not structure is handed to
``parse`` as one expression.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from cascade_rl_math.brackets import Tokens, encloses, split, top_level
from cascade_rl_math.lex import Token
from cascade_rl_math.limits import MAX_ITEMS, MAX_SIGNS, TooExpensive, Unreadable
from cascade_rl_math.nodes import (
    Clock,
    Group,
    Labelled,
    Matrix,
    Node,
    Scalar,
    Union,
    Words,
    interval,
    scalar,
)
from cascade_rl_math.parse import parse
from cascade_rl_math.relations import read_relation
from cascade_rl_math.sets import REALS, removal, without_points
from cascade_rl_math.words import strip_words

_ALL_REALS = ("all real numbers", "all reals", "all real values", "real numbers")


def read(tokens: Tokens) -> Node:
    """The node of a whole answer. Raises ``Unreadable`` and ``TooExpensive``."""
    if not tokens:
        raise Unreadable("nothing is written")
    parts = split(tokens, lambda token: token.kind == "sep")
    if len(parts) == 1 and len(parts[0]) == len(tokens):
        return read_item(tokens)
    items = list(_members(parts))
    joined = {token.value for token in top_level(tokens) if token.kind == "sep"}
    return items[0] if len(items) == 1 else Group("list", tuple(items), "or" in joined)


def read_item(tokens: Tokens) -> Node:
    """The node of one member: no separator at its top level."""
    if len(tokens) > 2 and tokens[0].kind == "text" and tokens[1] == ("op", ":"):
        return Labelled(tokens[0].value.casefold(), read_item(tokens[2:]))
    tokens, unit = strip_words(tokens)
    if all(token.kind == "text" for token in tokens):
        words = " ".join(token.value.casefold() for token in tokens)
        return REALS if words in _ALL_REALS else Words(words)
    if list(tokens) == [("sym", "set R")]:
        return REALS
    top = top_level(tokens)
    if any(token.kind == "rel" for token in top):
        return read_relation(tokens, read)
    if minus := removal(tokens):
        return without_points(read_item(tokens[: minus[0]]), read_item(tokens[minus[1] :]))
    if ("op", "∪") in top:
        parts = split(tokens, lambda token: token == ("op", "∪"))
        return Union(tuple(_limited([read_item(part) for part in parts])))
    if encloses(tokens):
        return _bracketed(tokens, unit)
    return _expression(tokens, unit)


def _members(parts: Iterable[Tokens]) -> list[Node]:
    return _limited([read_item(part) for part in parts if part])


def _limited(items: list[Node]) -> list[Node]:
    flat = [
        member
        for item in items
        for member in (item.items if isinstance(item, Group) and item.kind == "list" else (item,))
    ]
    if len(flat) > MAX_ITEMS:
        raise TooExpensive(f"{len(flat)} members, at most {MAX_ITEMS} are read")
    if not flat:
        raise Unreadable("a list without members")
    return flat


def _bracketed(tokens: Tokens, unit: str) -> Node:
    opening, closing, inner = tokens[0].value, tokens[-1].value, tokens[1:-1]
    if opening == "matrix" or closing == "matrix":
        return _matrix(inner) if opening == closing else _fail("a matrix cut short")
    parts = split(inner, lambda token: token.kind == "sep" and token.value in ",;")
    read_pair = _BRACKETS.get((opening, closing))
    if read_pair is None:
        return _expression(tokens, unit)
    return read_pair(inner, [part for part in parts if part], opening + closing, unit)


def _parentheses(inner: Tokens, parts: list[Tokens], _pair: str, unit: str) -> Node:
    if len(parts) == 1:
        node = read_item(inner)
        return Scalar(node.tree, node.value, node.sign, unit) if isinstance(node, Scalar) else node
    return _tuple(parts)


def _tuple(parts: list[Tokens]) -> Node:
    """A tuple; members with plus-minus stand for one tuple for each choice of signs."""
    choices = [
        node.items if isinstance(node, Group) and node.kind == "list" else (node,)
        for node in map(read_item, parts)
    ]
    if len(choices) > MAX_ITEMS:
        raise TooExpensive(f"{len(choices)} members, at most {MAX_ITEMS} are read")
    tuples = list(itertools.islice(itertools.product(*choices), MAX_ITEMS + 1))
    if len(tuples) > MAX_ITEMS:
        raise TooExpensive(f"more than {MAX_ITEMS} choices of signs")
    groups = tuple(Group("tuple", items) for items in tuples)
    return groups[0] if len(groups) == 1 else Group("list", groups)


def _ends(_inner: Tokens, parts: list[Tokens], pair: str, unit: str) -> Node:
    if len(parts) == 1 and pair == "[]":
        return _parentheses(parts[0], parts, pair, unit)
    if len(parts) != 2:
        return _tuple(parts) if pair == "[]" and parts else _fail("an interval without two ends")
    low, high = read_item(parts[0]), read_item(parts[1])
    if not isinstance(low, Scalar) or not isinstance(high, Scalar):
        return _tuple(parts) if pair == "[]" else _fail("an interval with ends that are no numbers")
    return interval(low, high, (pair[0] == "[", pair[1] == "]"))


def _set(inner: Tokens, parts: list[Tokens], _pair: str, _unit: str) -> Node:
    bars = split(inner, lambda token: token in (("op", "|"), ("op", ":")))
    if len(bars) == 2 and any(token.kind == "rel" for token in bars[1]):
        return read(bars[1])  # {x | -2 < x < 3}: the condition is the answer
    return Group("set", tuple(_members(parts)))


def _braces(inner: Tokens, parts: list[Tokens], pair: str, unit: str) -> Node:
    if len(parts) > 1:
        return _set(inner, parts, pair, unit)
    return _parentheses(inner, parts, pair, unit)


_BRACKETS: dict[tuple[str, str], Callable[[Tokens, list[Tokens], str, str], Node]] = {
    ("(", ")"): _parentheses,
    ("[", "]"): _ends,
    ("[", ")"): _ends,
    ("(", "]"): _ends,
    ("\\{", "\\}"): _set,
    ("{", "}"): _braces,
}


def _matrix(inner: Tokens) -> Node:
    rows = [row for row in split(inner, lambda token: token == ("op", "\\\\")) if row]
    entries = [
        tuple(map(read_item, split(row, lambda token: token == ("op", "&")))) for row in rows
    ]
    if not entries or len({len(row) for row in entries}) != 1:
        raise Unreadable("a matrix with rows of different lengths")
    if len(entries) * len(entries[0]) > MAX_ITEMS:
        raise TooExpensive(f"a matrix of more than {MAX_ITEMS} entries")
    return Matrix(tuple(entries))


def _fail(why: str) -> Node:
    raise Unreadable(why)


def _expression(tokens: Tokens, unit: str) -> Node:
    if clock := _clock(tokens):
        return clock
    signs = [index for index, token in enumerate(tokens) if token.value in ("±", "∓")]
    if not signs:
        return scalar(parse(tokens), unit)
    return Group("list", tuple(scalar(parse(each), unit) for each in _signed(tokens, signs)))


def _signed(tokens: Tokens, signs: list[int]) -> list[list[Token]]:
    """One expression for each choice of signs; with a minus-plus, all signs go together."""
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
            flipped = {"+": "-", "-": "+"}[sign] if tokens[index].value == "∓" else sign
            written[index] = Token("op", flipped)
        expressions.append(written)
    return expressions


def _clock(tokens: Tokens) -> Clock | None:
    if len(tokens) != 3 or tokens[1] != ("op", ":"):
        return None
    hours, minutes = tokens[0].value, tokens[2].value
    if not (hours.isdigit() and minutes.isdigit() and len(hours) <= 2 and len(minutes) == 2):
        return None
    return Clock(int(hours), int(minutes))
