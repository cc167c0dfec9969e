"""Intervals with points taken out: ``(-oo, 3) \\ {1}`` is a union of two intervals."""

from __future__ import annotations

from fractions import Fraction

from cascade_rl_math.brackets import Tokens, encloses, top_level
from cascade_rl_math.limits import Unreadable
from cascade_rl_math.nodes import (
    Group,
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


def removal(tokens: Tokens) -> tuple[int, int] | None:
    """Where a set ends and the points taken out of it begin: at a set minus, or at a minus
    sign before a last ``\\{...\\}``."""
    if ("op", "∖") in top_level(tokens):
        at = next(index for index, token in enumerate(tokens) if token == ("op", "∖"))
        return at, at + 1
    for at in range(len(tokens) - 2, 0, -1):
        if tokens[at] == ("op", "-") and tokens[at + 1] == ("open", "\\{"):
            after_set = tokens[at - 1].kind == "close" or tokens[at - 1].value == "set R"
            return (at, at + 1) if after_set and encloses(tokens[at + 1 :]) else None
    return None


def without_points(whole: Node, points: Node) -> Node:
    """A set without finitely many points. Raises ``Unreadable`` for other differences."""
    if isinstance(whole, Labelled):
        whole = whole.value
    removed = points.items if isinstance(points, Group) and points.kind == "set" else ()
    if not removed:
        raise Unreadable("a difference of sets that is not a few points taken out")
    ranges = list(whole.items) if isinstance(whole, Union) else [whole]
    for point in removed:
        if not isinstance(point, Scalar) or point.value is None:
            raise Unreadable("a point taken out that is no fraction")
        ranges = [piece for each in ranges for piece in _cut(each, point)]
    return ranges[0] if len(ranges) == 1 else Union(tuple(ranges))


def _cut(whole: Node, point: Scalar) -> list[Node]:
    if isinstance(whole, Group) and whole.kind == "tuple" and len(whole.items) == 2:
        low, high = whole.items
        if isinstance(low, Scalar) and isinstance(high, Scalar):
            whole = interval(low, high, (False, False))
    if not isinstance(whole, Interval):
        raise Unreadable("points taken out of something that is no interval")
    low_end, high_end, value = _end(whole.low), _end(whole.high), point.value
    assert value is not None
    if (low_end is not None and value < low_end) or (high_end is not None and value > high_end):
        return [whole]
    if value == low_end:
        return [interval(whole.low, whole.high, (False, whole.closed[1]))]
    if value == high_end:
        return [interval(whole.low, whole.high, (whole.closed[0], False))]
    return [
        interval(whole.low, point, (whole.closed[0], False)),
        interval(point, whole.high, (False, whole.closed[1])),
    ]


def _end(end: Scalar) -> Fraction | None:
    """The value of a finite end; None where it is infinite."""
    if is_infinite(end):
        return None
    if end.value is None:
        raise Unreadable("points taken out of an interval whose ends are no fractions")
    return end.value
