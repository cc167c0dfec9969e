"""Tokens with =, ≈, <, ≤, ≠ or ∈ to nodes: a labelled value, an interval, an equation."""

from __future__ import annotations

from collections.abc import Callable

from cascade_rl_math.brackets import Tokens, split, top_level
from cascade_rl_math.lex import Token
from cascade_rl_math.limits import Unreadable
from cascade_rl_math.names import is_one_symbol, label
from cascade_rl_math.nodes import (
    Equation,
    Group,
    Inequality,
    Interval,
    Labelled,
    Node,
    Residue,
    Scalar,
    Union,
    interval,
    scalar,
)
from cascade_rl_math.parse import parse
from cascade_rl_math.signs import choose_signs
from cascade_rl_math.tree import Ast, minus, symbols

Reader = Callable[[Tokens], Node]

_INFINITY: Ast = ("const", "oo")
_FLIPPED = {">": "<", "≥": "≤"}
_MAX_SIDES = 8


def read_relation(tokens: Tokens, read: Reader) -> Node:
    """The node of a chain of relations. ``read`` reads a side that may be structure."""
    sides, operators = _sides(tokens)
    sides, operators = _without_approximation(sides, operators)
    if not operators:
        return read(sides[0])
    for kinds, make in _KINDS:
        if set(operators) <= kinds:
            return make(sides, operators, read)
    raise Unreadable(f"a chain that mixes {' and '.join(sorted(set(operators)))}")


def _sides(tokens: Tokens) -> tuple[list[Tokens], list[str]]:
    sides = split(tokens, lambda token: token.kind == "rel")
    if len(sides) > _MAX_SIDES:
        raise Unreadable(f"a chain of {len(sides)} sides")
    return sides, [token.value for token in top_level(tokens) if token.kind == "rel"]


def _without_approximation(
    sides: list[Tokens], operators: list[str]
) -> tuple[list[Tokens], list[str]]:
    """``x = 1/3 ≈ 0.33`` commits to 1/3; ``≈ 0.33`` and ``x ≈ 0.33`` to the decimal."""
    if "≈" not in operators:
        return sides, operators
    cut = operators.index("≈")
    if set(operators[cut:]) != {"≈"}:
        raise Unreadable("a chain that goes on after ≈")
    if cut == 0 and (not sides[0] or label(sides[0]) is not None):
        return [sides[0], sides[1]] if sides[0] else [sides[1]], ["="] if sides[0] else []
    return sides[: cut + 1], operators[:cut]


def _equalities(sides: list[Tokens], _operators: list[str], read: Reader) -> Node:
    if not all(sides):
        if not sides[0] and len(sides) == 2:
            return read(sides[1])  # "= 5"
        raise Unreadable("an equation without a side")
    signs = _expanded(sides)
    if signs is not None:
        return Group("list", tuple(_equalities(each, [], read) for each in signs))
    name = label(sides[0])
    if name is None and len(sides) == 2 and (turned := label(sides[1])) is not None:
        sides, name = [sides[1], sides[0]], turned
    if name is not None:
        return _labelled(name, sides, read)
    values = [_value(side, read) for side in sides]
    if not any(symbols(value.tree) for value in values):
        _agree(values)
        return values[-1]  # 3 + 10 = 13 commits to its last side
    if len(sides) != 2:
        raise Unreadable("a chain of equations")
    difference = minus(values[0].tree, values[1].tree)
    scalar(difference)  # its parts are within the limits
    return Equation(difference)


def _expanded(sides: list[Tokens]) -> list[list[Tokens]] | None:
    """The sides once for each choice of their plus-minus signs; None where there are none."""
    if not any(token.value in ("±", "∓") for side in sides for token in top_level(side)):
        return None
    chain = sides[0]
    for side in sides[1:]:
        chain = [*chain, Token("rel", "="), *side]
    return [split(each, lambda token: token.kind == "rel") for each in choose_signs(chain)]


def _value(side: Tokens, read: Reader) -> Scalar:
    """A side as an expression; a unit behind a number is no factor."""
    value = read(side)
    if not isinstance(value, Scalar):
        raise Unreadable("a side of a relation that is no expression")
    return value.quantity or value


def _labelled(name: tuple[str, tuple[str, ...]], sides: list[Tokens], read: Reader) -> Node:
    text, arguments = name
    values = [read(side) for side in sides[1:] if label(side) is None or side is sides[-1]]
    last = values[-1]
    if any(isinstance(each, Scalar) and text in symbols(each.tree) for each in values[:-1]):
        raise Unreadable("a chain of equations that comes back to its name")
    if isinstance(last, Scalar):
        if not arguments and text in symbols(last.tree):
            return Equation(minus(parse(sides[0]), last.tree))
        _agree([value for value in values if isinstance(value, Scalar)])
    equation = None
    if isinstance(last, Scalar) and len(sides) == 2 and is_one_symbol(sides[0]):
        equation = minus(parse(sides[0]), last.tree)
    return Labelled(text, last, arguments, equation)


def _agree(values: list[Scalar]) -> None:
    """A chain such as ``5 = 7`` commits to nothing."""
    values = [value for value in values if value.unit is None]
    if len({value.value for value in values if value.value is not None and not value.sign}) > 1:
        raise Unreadable("a chain of equations that contradicts itself")


def _membership(sides: list[Tokens], _operators: list[str], read: Reader) -> Node:
    name = label(sides[0]) if len(sides) == 2 and sides[0] else None
    if name is None:
        raise Unreadable("a membership that names no variable")
    return Labelled(name[0], read(sides[1]), name[1])


def _congruence(sides: list[Tokens], _operators: list[str], read: Reader) -> Node:
    value = read(sides[-1]) if len(sides) == 2 and sides[0] else None
    name = label(sides[0]) if sides[0] else None
    if name is None or not isinstance(value, Residue):
        raise Unreadable("a congruence that is not of one name")
    return Labelled(name[0], value)


def _bounds(sides: list[Tokens], operators: list[str], read: Reader) -> Node:
    rising = [operator in "<≤" for operator in operators]
    if any(rising) and not all(rising):
        raise Unreadable("a chain of inequalities that turns")
    if not all(sides):
        raise Unreadable("an inequality without a side")
    if not rising[0]:
        sides, operators = sides[::-1], [_FLIPPED[operator] for operator in operators[::-1]]
    return (
        _ray(sides, operators, read)
        or _distance(sides, operators)
        or Inequality(tuple(operators), tuple(_value(side, read) for side in sides))
    )


def _ray(sides: list[Tokens], operators: list[str], read: Reader) -> Labelled | None:
    """``a < x <= b``, ``x < b`` and ``a < x`` as an interval for x."""
    labels = [label(side) for side in sides]
    named = [index for index, name in enumerate(labels) if name is not None]
    if len(sides) > 3 or len(named) != 1 or (len(sides) == 3 and named != [1]):
        return None
    at = named[0]
    ends = [_value(side, read) for index, side in enumerate(sides) if index != at]
    low = ends[0] if at else scalar(("neg", _INFINITY))
    high = ends[-1] if at < len(sides) - 1 else scalar(_INFINITY)
    closed = (at > 0 and operators[at - 1] == "≤", at < len(sides) - 1 and operators[at] == "≤")
    name, arguments = labels[at] or ("", ())
    if any(name in symbols(end.tree) for end in ends):
        return None
    found = Labelled(name, interval(low, high, closed), arguments)
    return _unfolded(found, sides[at]) if sides[at][0] == ("op", "|") else found


def _unfolded(found: Labelled, side: Tokens) -> Labelled:
    """1 <= |z| <= 3/2 is two intervals for z, where the bounds are not negative."""
    assert isinstance(found.value, Interval)
    low, high, closed = found.value.low, found.value.high, found.value.closed
    if len(side) != 3 or any(end.value is not None and end.value < 0 for end in (low, high)):
        return found
    mirrored = _negated(high)
    if low.tree == ("neg", _INFINITY):  # |z| < a
        both: Node = interval(mirrored, high, (closed[1], closed[1]))
    else:
        both = Union((interval(mirrored, _negated(low), closed[::-1]), found.value))
    return Labelled(side[1].value, both)


def _negated(end: Scalar) -> Scalar:
    return scalar(("neg", end.tree))


def _distance(sides: list[Tokens], operators: list[str]) -> Labelled | None:
    """``|x - 3| < 2`` is 1 < x < 5; ``|x - 3| > 2`` is its outside."""
    at = next((index for index, side in enumerate(sides) if side[0] == ("op", "|")), -1)
    inside = sides[at][1:-1] if at >= 0 and sides[at][-1] == ("op", "|") else []
    if len(sides) != 2 or len(inside) < 3 or inside[1].value not in ("-", "+"):
        return None
    centre = scalar(parse(inside[2:] if inside[1].value == "-" else inside[1:]))
    radius = scalar(parse(sides[1 - at]))
    if not is_one_symbol(inside[:1]) or centre.value is None or (radius.value or -1) <= 0:
        return None
    low = scalar(minus(centre.tree, radius.tree))
    high = scalar(("add", centre.tree, radius.tree))
    closed = operators[0] == "≤"
    name = inside[0].value
    if at == 0:
        return Labelled(name, interval(low, high, (closed, closed)))
    below = interval(scalar(("neg", _INFINITY)), low, (False, closed))
    return Labelled(name, Union((below, interval(high, scalar(_INFINITY), (closed, False)))))


def _unequal(sides: list[Tokens], operators: list[str], _read: Reader) -> Node:
    if not all(sides):
        raise Unreadable("an inequality without a side")
    signs = _expanded(sides)
    if signs is not None:
        return Group("list", tuple(_unequal(each, operators, _read) for each in signs))
    return Inequality(tuple(operators), tuple(scalar(parse(side)) for side in sides))


_KINDS: tuple[tuple[frozenset[str], Callable[[list[Tokens], list[str], Reader], Node]], ...] = (
    (frozenset("="), _equalities),
    (frozenset("∈"), _membership),
    (frozenset("≡"), _congruence),
    (frozenset("<≤>≥"), _bounds),
    (frozenset("≠"), _unequal),
)
