"""Tokens with =, ≈, <, ≤, ≠ or ∈ to nodes: a labelled value, an interval, an equation."""

from __future__ import annotations

from collections.abc import Callable

from cascade_rl_math.brackets import Tokens, split, top_level
from cascade_rl_math.limits import Unreadable
from cascade_rl_math.nodes import (
    Equation,
    Inequality,
    Labelled,
    Node,
    Scalar,
    interval,
    scalar,
)
from cascade_rl_math.parse import Ast, parse, symbols

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
    if cut == 0 and (not sides[0] or _label(sides[0]) is not None):
        return [sides[0], sides[1]] if sides[0] else [sides[1]], ["="] if sides[0] else []
    return sides[: cut + 1], operators[:cut]


def _equalities(sides: list[Tokens], _operators: list[str], read: Reader) -> Node:
    if not all(sides):
        if not sides[0] and len(sides) == 2:
            return read(sides[1])  # "= 5"
        raise Unreadable("an equation without a side")
    label = _label(sides[0])
    if label is None and len(sides) == 2 and (turned := _label(sides[1])) is not None:
        sides, label = [sides[1], sides[0]], turned
    if label is not None:
        return _labelled(label, sides, read)
    trees = [parse(side) for side in sides]
    if not symbols(trees[0]):
        return _consistent(trees)
    if len(sides) != 2:
        raise Unreadable("a chain of equations")
    difference = ("add", trees[0], ("neg", trees[1]))
    scalar(difference)  # its parts are within the limits
    return Equation(difference)


def _labelled(label: tuple[str, tuple[str, ...]], sides: list[Tokens], read: Reader) -> Node:
    name, arguments = label
    values = [read(side) for side in sides[1:] if _label(side) is None or side is sides[-1]]
    last = values[-1]
    if any(isinstance(each, Scalar) and name in symbols(each.tree) for each in values[:-1]):
        raise Unreadable("a chain of equations that comes back to its name")
    if isinstance(last, Scalar):
        if not arguments and name in symbols(last.tree):
            return Equation(("add", parse(sides[0]), ("neg", last.tree)))
        _agree([value for value in values if isinstance(value, Scalar)])
    equation = None
    if isinstance(last, Scalar) and len(sides) == 2 and _is_one_symbol(sides[0]):
        equation = ("add", parse(sides[0]), ("neg", last.tree))
    return Labelled(name, last, arguments, equation)


def _consistent(trees: list[Ast]) -> Node:
    values = [scalar(tree) for tree in trees]
    _agree(values)
    return values[-1]


def _agree(values: list[Scalar]) -> None:
    """A chain such as ``5 = 7`` commits to nothing."""
    if len({value.value for value in values if value.value is not None and not value.sign}) > 1:
        raise Unreadable("a chain of equations that contradicts itself")


def _membership(sides: list[Tokens], _operators: list[str], read: Reader) -> Node:
    label = _label(sides[0]) if len(sides) == 2 and sides[0] else None
    if label is None:
        raise Unreadable("a membership that names no variable")
    return Labelled(label[0], read(sides[1]), label[1])


def _bounds(sides: list[Tokens], operators: list[str], _read: Reader) -> Node:
    rising = [operator in "<≤" for operator in operators]
    if any(rising) and not all(rising):
        raise Unreadable("a chain of inequalities that turns")
    if not rising[0]:
        sides, operators = sides[::-1], [_FLIPPED[operator] for operator in operators[::-1]]
    return _ray(sides, operators) or Inequality(
        tuple(operators), tuple(scalar(parse(side)) for side in sides)
    )


def _ray(sides: list[Tokens], operators: list[str]) -> Node | None:
    """``a < x <= b``, ``x < b`` and ``a < x`` as an interval for x."""
    labels = [_label(side) for side in sides]
    named = [index for index, label in enumerate(labels) if label is not None]
    if len(sides) > 3 or len(named) != 1 or (len(sides) == 3 and named != [1]):
        return None
    at = named[0]
    ends = [scalar(parse(side)) for index, side in enumerate(sides) if index != at]
    low = ends[0] if at else scalar(("neg", _INFINITY))
    high = ends[-1] if at < len(sides) - 1 else scalar(_INFINITY)
    closed = (at > 0 and operators[at - 1] == "≤", at < len(sides) - 1 and operators[at] == "≤")
    name, arguments = labels[at] or ("", ())
    if any(name in symbols(end.tree) for end in ends):
        return None
    return Labelled(name, interval(low, high, closed), arguments)


def _unequal(sides: list[Tokens], operators: list[str], _read: Reader) -> Node:
    return Inequality(tuple(operators), tuple(scalar(parse(side)) for side in sides))


def _label(tokens: Tokens) -> tuple[str, tuple[str, ...]] | None:
    """The name on one side of a relation, and its arguments: x, a_n, f(x), (p, q), AB."""
    kinds = [token.kind for token in tokens]
    name = "".join(token.value for token in tokens if token.value not in "{}")
    if not tokens or len(tokens) > 24:
        return None
    if _is_one_symbol(tokens) or set(kinds) == {"text"}:
        return name, ()
    if kinds[0] in ("sym", "text") and tokens[-1].value == ")" and "(" in name:
        inner = tokens[_index(tokens, "(") + 1 : -1]
        head = tokens[: _index(tokens, "(")]
        if _is_one_symbol(head) or head[0].kind == "text":
            return _application(name, inner)
    if tokens[0].value == "(" and tokens[-1].value == ")":
        members = [token for token in tokens[1:-1] if token.kind != "sep"]
        if len(members) < len(tokens) - 2 and all(t.kind not in ("num", "op") for t in members):
            return name, ()
    segments = [t for t in tokens if t.value not in ("frac", "{", "}", "angle", "triangle")]
    capitals = all(t.kind == "sym" and t.value.isalpha() and t.value.isupper() for t in segments)
    return (name, ()) if capitals and segments else None


def _application(name: str, inner: Tokens) -> tuple[str, tuple[str, ...]] | None:
    if all(token.kind in ("sym", "const") or token.value == "," for token in inner):
        return name, tuple(token.value for token in inner if token.kind == "sym")
    if all(token.kind == "num" or token.value == "," for token in inner):
        return name, ()  # T(10): a name for one value
    return None


def _index(tokens: Tokens, value: str) -> int:
    return next(index for index, token in enumerate(tokens) if token.value == value)


def _is_one_symbol(tokens: Tokens) -> bool:
    """x, x', x_1, x_{n+1}: one name."""
    if not tokens or tokens[0].kind not in ("sym", "const") or tokens[0].value == "oo":
        return False
    rest = tokens[1:]
    if rest and rest[0] == ("op", "_"):
        braced = len(rest) > 2 and rest[1].value == "{" and rest[-1].value == "}"
        return len(rest) == 2 or braced
    return all(token == ("post", "'") for token in rest)


_KINDS: tuple[tuple[frozenset[str], Callable[[list[Tokens], list[str], Reader], Node]], ...] = (
    (frozenset("="), _equalities),
    (frozenset("∈"), _membership),
    (frozenset("<≤>≥"), _bounds),
    (frozenset("≠"), _unequal),
)
