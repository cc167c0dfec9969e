"""Sets of reals as intervals in order: unions that touch, points taken out, complements.

Only where every end is a constant, so that the ends can be put in order; their order comes
from floats, their equality from exact values, and ends too close to tell apart are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cascade_rl_math.approximate import approximate
from cascade_rl_math.brackets import Tokens, encloses, top_level
from cascade_rl_math.limits import Unreadable
from cascade_rl_math.nodes import (
    Group,
    Inequality,
    Interval,
    Labelled,
    Node,
    Scalar,
    Union,
    interval,
    is_infinite,
    scalar,
)

_INFINITY = scalar(("const", "oo"))
_MINUS_INFINITY = scalar(("neg", ("const", "oo")))
REALS = interval(_MINUS_INFINITY, _INFINITY, (False, False))
_TOO_CLOSE = 1e-9


class End(NamedTuple):
    """One end of a piece: where it lies, what was written, whether it belongs to the piece."""

    place: float
    scalar: Scalar
    closed: bool


class Piece(NamedTuple):
    """From ``low`` to ``high``; a point has two closed ends at one place."""

    low: End
    high: End


class NoOrder(Unreadable):
    """The ends of a set cannot be put in order."""


def pieces(node: Node) -> list[Piece] | None:
    """The pieces of a set in order, none touching another; None where it is no set of reals
    or has ends that cannot be put in order."""
    try:
        return _tidy(_pieces(node))
    except NoOrder:
        return None


def is_range(node: Node) -> bool:
    """Whether a node can only be read as a set of reals: (0, 1) may also be a point."""
    if isinstance(node, Labelled):
        return is_range(node.value)
    if isinstance(node, Group):
        return node.kind == "tuple" and len(node.items) == 2 and any(map(_is_endless, node.items))
    return isinstance(node, Interval | Union) or (
        isinstance(node, Inequality) and _removed(node) is not None
    )


def _is_endless(node: Node) -> bool:
    return isinstance(node, Scalar) and is_infinite(node)


def removal(tokens: Tokens) -> tuple[int, int] | None:
    """Where a set ends and what is taken out of it begins: at a set minus, or at a minus
    sign before a last ``\\{...\\}``."""
    if ("op", "∖") in top_level(tokens):
        at = next(index for index, token in enumerate(tokens) if token == ("op", "∖"))
        return at, at + 1
    for at in range(len(tokens) - 2, 0, -1):
        if tokens[at] == ("op", "-") and tokens[at + 1] == ("open", "\\{"):
            after_set = tokens[at - 1].kind == "close" or tokens[at - 1].value == "set R"
            return (at, at + 1) if after_set and encloses(tokens[at + 1 :]) else None
    return None


def without(whole: Node, removed: Node) -> Node:
    """A set without another. Raises ``Unreadable`` where that is beyond this module."""
    inside, outside = pieces(whole), pieces(removed)
    if inside is None or outside is None:
        raise Unreadable("a difference of sets whose ends are no constants")
    return node_of(_meet(inside, _complement(outside)))


def intersection(nodes: Sequence[Node]) -> Node:
    """The common part of several sets. Raises ``Unreadable``."""
    total = [Piece(_end(_MINUS_INFINITY, False), _end(_INFINITY, False))]
    for node in nodes:
        found = pieces(node)
        if found is None:
            raise Unreadable("an intersection of sets whose ends are no constants")
        total = _meet(total, found)
    return node_of(total)


def node_of(found: Sequence[Piece]) -> Node:
    """Pieces as a node; points alone are a set of them."""
    if found and all(piece.low.place == piece.high.place for piece in found):
        return Group("set", tuple(piece.low.scalar for piece in found))
    made = [interval(p.low.scalar, p.high.scalar, (p.low.closed, p.high.closed)) for p in found]
    if len(made) == 1:
        return made[0]
    return Union(tuple(made)) if made else Group("set", ())


def _pieces(node: Node) -> list[Piece]:
    if isinstance(node, Labelled):
        return _pieces(node.value)
    if isinstance(node, Interval):
        low, high = _end(node.low, node.closed[0]), _end(node.high, node.closed[1])
        return [Piece(low, high)] if low.place < high.place else []
    if isinstance(node, Union):
        return [piece for item in node.items for piece in _pieces(item)]
    if isinstance(node, Scalar):
        return [Piece(_end(node, True), _end(node, True))]
    if isinstance(node, Inequality) and (point := _removed(node)) is not None:
        return _complement(_pieces(point))
    if isinstance(node, Group):
        return _group(node)
    raise NoOrder


def _group(node: Group) -> list[Piece]:
    if node.kind == "tuple":
        low, high = node.items if len(node.items) == 2 else (None, None)
        if not isinstance(low, Scalar) or not isinstance(high, Scalar):
            raise NoOrder
        return _pieces(interval(low, high, (False, False)))
    points = [_removed(item) for item in node.items]
    if node.items and points[0] is not None:  # x != 1, x != 2 and x != 1, 2 take points out
        taken = [point or item for point, item in zip(points, node.items, strict=True)]
        return _complement(_tidy([piece for item in taken for piece in _pieces(item)]))
    if node.together and all(map(is_range, node.items)):
        common = _pieces(REALS)
        for item in node.items:
            common = _meet(common, _tidy(_pieces(item)))
        return common
    return [piece for item in node.items for piece in _pieces(item)]


def _removed(node: Node) -> Scalar | None:
    """The 3 of ``x != 3``."""
    if not isinstance(node, Inequality) or node.operators != ("≠",):
        return None
    left, right = node.sides
    if left.tree[0] == "sym":
        return right
    return left if right.tree[0] == "sym" else None


def _end(written: Scalar, closed: bool) -> End:
    place = approximate(written.tree)
    if place is None or written.sign or written.unit:
        raise NoOrder
    return End(place, written, closed and math.isfinite(place))


def _same(one: End, other: End) -> bool:
    """Whether two ends are at one place. Raises ``NoOrder`` where floats cannot tell."""
    if one.scalar.tree == other.scalar.tree:
        return True
    if one.scalar.value is not None and other.scalar.value is not None:
        return one.scalar.value == other.scalar.value
    if not math.isclose(one.place, other.place, rel_tol=_TOO_CLOSE, abs_tol=_TOO_CLOSE):
        return False
    raise NoOrder


def _before(one: End, other: End) -> bool:
    return not _same(one, other) and one.place < other.place


def _tidy(found: Iterable[Piece]) -> list[Piece]:
    tidy: list[Piece] = []
    for piece in sorted(found, key=lambda piece: (piece.low.place, not piece.low.closed)):
        if tidy and _touch(tidy[-1].high, piece.low):
            tidy[-1] = Piece(tidy[-1].low, _further(tidy[-1].high, piece.high))
        else:
            tidy.append(piece)
    return tidy


def _touch(high: End, low: End) -> bool:
    if _same(high, low):
        return high.closed or low.closed
    return low.place < high.place


def _further(one: End, other: End) -> End:
    if _same(one, other):
        return one if one.closed else other
    return one if one.place > other.place else other


def _complement(found: Sequence[Piece]) -> list[Piece]:
    low = _end(_MINUS_INFINITY, False)
    rest: list[Piece] = []
    for piece in found:
        high = piece.low._replace(closed=not piece.low.closed)
        if _fits(low, high):
            rest.append(Piece(low, high))
        low = piece.high._replace(closed=not piece.high.closed)
    last = _end(_INFINITY, False)
    return [*rest, Piece(low, last)] if _fits(low, last) else rest


def _fits(low: End, high: End) -> bool:
    """Whether anything lies between two ends."""
    if not (math.isfinite(low.place) or math.isfinite(high.place)):
        return low.place < high.place
    if _same(low, high):
        return low.closed and high.closed and math.isfinite(low.place)
    return low.place < high.place


def _meet(left: Sequence[Piece], right: Sequence[Piece]) -> list[Piece]:
    found = []
    for ours in left:
        for theirs in right:
            low, high = _later(ours.low, theirs.low), _earlier(ours.high, theirs.high)
            if _fits(low, high):
                found.append(Piece(low, high))
    return _tidy(found)


def _later(one: End, other: End) -> End:
    if _same(one, other):
        return other if one.closed else one
    return one if one.place > other.place else other


def _earlier(one: End, other: End) -> End:
    if _same(one, other):
        return other if one.closed else one
    return one if one.place < other.place else other
