"""Tokens to nodes: where an answer falls apart into members, ends, sides and labels.

Splitting happens at the top level of brackets only. What is not structure is handed to
``parse`` as one expression.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

from cascade_rl_math.brackets import Tokens, encloses, split, top_level
from cascade_rl_math.environments import (
    is_matrix_expression,
    read_cases,
    read_determinant,
    read_lines,
    read_matrix,
    read_matrix_expression,
)
from cascade_rl_math.lex import Token
from cascade_rl_math.limits import MAX_ITEMS, TooExpensive, Unreadable
from cascade_rl_math.nodes import (
    NOTHING,
    Clock,
    Group,
    Labelled,
    Node,
    Ratio,
    Residue,
    Scalar,
    Union,
    Words,
    interval,
    scalar,
)
from cascade_rl_math.parse import parse
from cascade_rl_math.relations import read_relation
from cascade_rl_math.sets import REALS, intersection, removal, without
from cascade_rl_math.signs import choose_signs
from cascade_rl_math.units import Unit
from cascade_rl_math.vocabulary import EVERY_REAL, NOTHING_FITS, NUMBER_WORDS
from cascade_rl_math.words import (
    bare_unit,
    is_lead_in,
    is_membership,
    is_plain_qualifier,
    strip_words,
)

_POINT_NAMES = frozenset("ABDEFGHIJKLMNOPQRSTUVWXYZ")


def read(tokens: Tokens) -> Node:
    """The node of a whole answer. Raises ``Unreadable`` and ``TooExpensive``."""
    if not tokens:
        raise Unreadable("nothing is written")
    parts = split(tokens, lambda token: token.kind == "sep")
    if len(parts) == 1:
        return read_item(tokens)
    parts = _without_memberships(parts[is_lead_in(parts[0]) :])
    if len(parts) == 1:
        return read_item(parts[0])
    joints = {token.value for token in top_level(tokens) if token.kind == "sep"}
    if "or" in joints and not (parts[0] and parts[-1]):
        raise Unreadable("an alternative is missing")
    items = _members([part for part in parts if part])
    if len(items) == 1:
        return items[0]
    return Group("list", tuple(items), "or" in joints, "and" in joints)


def read_item(tokens: Tokens) -> Node:
    """The node of one member: no separator at its top level."""
    if len(tokens) == 1 and tokens[0].kind == "num":
        return scalar(("num", tokens[0].value))
    if len(tokens) > 2 and tokens[0].kind == "text" and tokens[1] == ("op", ":"):
        return Labelled(tokens[0].value.casefold(), read_item(tokens[2:]))
    tokens, unit = strip_words(_without_aside(tokens), sided=True)
    if all(token.kind == "text" for token in tokens):
        return _worded(" ".join(token.value.casefold() for token in tokens))
    if len(tokens) == 1 and tokens[0].value in _NAMED_SETS:
        return _NAMED_SETS[tokens[0].value]
    top = top_level(tokens)
    if any(token.kind == "rel" for token in top):
        return read_relation(tokens, read)
    if composed := _composed(tokens, top):
        return composed
    return _bracketed(tokens, unit) if encloses(tokens) else _expression(tokens, unit)


def _composed(tokens: Tokens, top: Sequence[Token]) -> Node | None:
    """What an operator between structures makes: unions, differences, sums of matrices."""
    if _is_named_point(tokens):
        return Labelled(tokens[0].value, read_item(tokens[1:]))
    if ("op", "mod") in top:
        return _residue(tokens)
    if minus := removal(tokens):
        return without(read_item(tokens[: minus[0]]), read_item(tokens[minus[1] :]))
    for operator, join in _SET_OPERATIONS.items():
        if operator in top:
            return join(_members(split(tokens, operator.__eq__)))
    return read_matrix_expression(tokens, read) if is_matrix_expression(tokens) else None


def _is_named_point(tokens: Tokens) -> bool:
    """``A(1, 2)``: a capital and its coordinates (a C is the number of combinations)."""
    return (
        len(tokens) > 4
        and tokens[0].kind == "sym"
        and tokens[0].value in _POINT_NAMES
        and tokens[1] == ("open", "(")
        and encloses(tokens[1:])
        and any(token.kind == "sep" for token in top_level(tokens[2:-1]))
    )


def _worded(words: str) -> Node:
    if words in EVERY_REAL:
        return REALS
    if words in NOTHING_FITS:
        return NOTHING
    return scalar(("num", NUMBER_WORDS[words])) if words in NUMBER_WORDS else Words(words)


def _union(items: list[Node]) -> Node:
    return Union(tuple(items))


_SET_OPERATIONS: dict[Token, Callable[[list[Node]], Node]] = {
    Token("op", "∪"): _union,
    Token("op", "∩"): intersection,
}
_NAMED_SETS: dict[str, Node] = {"set R": REALS, "∅": NOTHING}


def _without_memberships(parts: list[Tokens]) -> list[Tokens]:
    """``k \\in \\mathbb{Z}`` beside others says what k may be and is no member itself."""
    return [part for part in parts if not is_membership(part)] or parts


def _without_aside(tokens: Tokens) -> Tokens:
    """``\\frac{\\pi}{4} + k\\pi (k \\in Z)``: the last brackets say what k may be."""
    if tokens and tokens[-1] == ("close", ")"):
        opened = [index for index, token in enumerate(tokens) if token == ("open", "(")]
        start = opened[-1] if opened else 0
        if start > 0 and is_membership(tokens[start:]):
            return tokens[:start]
    return tokens


def _members(parts: Sequence[Tokens]) -> list[Node]:
    if len(parts) > MAX_ITEMS:
        raise TooExpensive(f"{len(parts)} members, at most {MAX_ITEMS} are read")
    flat = [
        member
        for item in map(read_item, parts)
        for member in (item.items if isinstance(item, Group) and item.kind == "list" else (item,))
    ]
    if len(flat) > MAX_ITEMS:
        raise TooExpensive(f"{len(flat)} members, at most {MAX_ITEMS} are read")
    if not flat:
        raise Unreadable("a list without members")
    return flat


def _bracketed(tokens: Tokens, unit: Unit | None) -> Node:
    opening, closing, inner = tokens[0].value, tokens[-1].value, tokens[1:-1]
    if opening in _ENVIRONMENTS or closing in _ENVIRONMENTS:
        if opening != closing:
            raise Unreadable("an environment cut short")
        return _ENVIRONMENTS[opening](inner, read)
    if opening + closing in ("{}", "\\{\\}") and not inner:
        return NOTHING
    parts = split(inner, lambda token: token.kind == "sep" and token.value in ",;")
    read_pair = _BRACKETS.get((opening, closing))
    if read_pair is None:
        return _expression(tokens, unit)
    return read_pair(inner, [part for part in parts if part], opening + closing, unit)


def _parentheses(inner: Tokens, parts: list[Tokens], _pair: str, unit: Unit | None) -> Node:
    if len(parts) == 1:
        node = read(inner)
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


def _angles(inner: Tokens, parts: list[Tokens], _pair: str, _unit: Unit | None) -> Node:
    return _tuple(parts) if parts else _fail(f"{len(inner)} signs in angle brackets")


def _ends(_inner: Tokens, parts: list[Tokens], pair: str, unit: Unit | None) -> Node:
    if len(parts) == 1 and pair == "[]":
        return _parentheses(parts[0], parts, pair, unit)
    if len(parts) != 2:
        return _tuple(parts) if pair == "[]" and parts else _fail("an interval without two ends")
    low, high = read_item(parts[0]), read_item(parts[1])
    if not isinstance(low, Scalar) or not isinstance(high, Scalar):
        return _tuple(parts) if pair == "[]" else _fail("an interval with ends that are no numbers")
    return interval(low, high, (pair[0] == "[", pair[1] == "]"))


_SUCH_THAT = (("op", "|"), ("op", ":"))


def _set(inner: Tokens, parts: list[Tokens], _pair: str, _unit: Unit | None) -> Node:
    bars = split(inner, lambda token: token in _SUCH_THAT)
    if len(bars) == 2 and any(token.kind == "rel" for token in bars[1]):
        if is_membership(bars[1]):
            return read(bars[0])  # {k pi | k in Z}
        if is_plain_qualifier(bars[0]):
            return read(bars[1])  # {x | -2 < x < 3}: the condition is the answer
        raise Unreadable("a set of values under a condition")
    return Group("set", tuple(_members(parts)))


def _braces(inner: Tokens, parts: list[Tokens], pair: str, unit: Unit | None) -> Node:
    described = any(token in _SUCH_THAT for token in top_level(inner))
    if len(parts) > 1 or (described and any(token.kind == "rel" for token in top_level(inner))):
        return _set(inner, parts, pair, unit)
    return _parentheses(inner, parts, pair, unit)


_BRACKETS: dict[tuple[str, str], Callable[[Tokens, list[Tokens], str, Unit | None], Node]] = {
    ("(", ")"): _parentheses,
    ("[", "]"): _ends,
    ("[", ")"): _ends,
    ("(", "]"): _ends,
    ("\\{", "\\}"): _set,
    ("{", "}"): _braces,
    ("⟨", "⟩"): _angles,
}
_ENVIRONMENTS: dict[str, Callable[[Tokens, Callable[[Tokens], Node]], Node]] = {
    "matrix": read_matrix,
    "determinant": read_determinant,
    "cases": read_cases,
    "lines": read_lines,
}


def _fail(why: str) -> Node:
    raise Unreadable(why)


def _residue(tokens: Tokens) -> Node:
    """``3 \\pmod{7}``, ``x \\equiv 3 \\mod 7``: a value and its modulus."""
    value, *rest = split(tokens, lambda token: token == ("op", "mod"))
    while value and value[-1].kind == "sep":
        value = value[:-1]
    if len(rest) != 1:
        raise Unreadable("more than one modulus")
    return Residue(scalar(parse(value)), scalar(parse(rest[0])))


def _expression(tokens: Tokens, unit: Unit | None) -> Node:
    if special := _clock(tokens) or _ratio(tokens):
        return special
    if not any(token.value in ("±", "∓") for token in tokens):
        return _quantified(scalar(parse(tokens), unit), tokens)
    return Group("list", tuple(scalar(parse(each), unit) for each in choose_signs(tokens)))


def _quantified(node: Scalar, tokens: Tokens) -> Scalar:
    quantity = bare_unit(tokens) if node.unit is None else None
    if quantity is None:
        return node
    return replace(node, quantity=scalar(parse(quantity[0]), quantity[1]))


def _ratio(tokens: Tokens) -> Ratio | None:
    """``1:2:3``; of two parts only, it is a quotient."""
    sides: Sequence[Tokens] = split(tokens, lambda token: token == ("op", ":"))
    if len(sides) < 3 or not all(sides) or len(sides) > MAX_ITEMS:
        return None
    return Ratio(tuple(scalar(parse(side)) for side in sides))


def _clock(tokens: Tokens) -> Clock | None:
    if len(tokens) != 3 or tokens[1] != ("op", ":"):
        return None
    hours, minutes = tokens[0].value, tokens[2].value
    if not (hours.isdigit() and minutes.isdigit() and len(hours) <= 2 and len(minutes) == 2):
        return None
    return Clock(int(hours), int(minutes))
