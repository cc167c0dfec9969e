"""Rules for lists, sets, tuples, intervals, unions, matrices and piecewise values."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cascade_rl_math import polynomial, sets
from cascade_rl_math.compare import all_equal, any_order, compare, different, paired, rule
from cascade_rl_math.layers import Layers, Verdict
from cascade_rl_math.nodes import (
    Clock,
    Equation,
    Group,
    Inequality,
    Interval,
    Labelled,
    Matrix,
    Node,
    Piecewise,
    Ratio,
    Residue,
    Scalar,
    Union,
    Words,
    interval,
    scalar,
)
from cascade_rl_math.tree import put

_UNIT_VECTORS = ("unit i", "unit j", "unit k")


@rule((Group, Group))
def _groups(gold: Group, answer: Group, layers: Layers) -> Verdict:
    if "tuple" not in (gold.kind, answer.kind):
        return _lists(gold, answer, layers)
    if (_is_union(gold) and _is_pair(answer)) or (_is_union(answer) and _is_pair(gold)):
        return _real_sets(gold, answer, layers)
    if layers.rules.order == "ignored":
        return any_order(gold.items, answer.items, layers, f"tuple of {len(gold.items)}")
    if "set" in (gold.kind, answer.kind) or len(gold.items) != len(answer.items):
        return different(gold, answer)
    pairs = zip(gold.items, answer.items, strict=True)
    return all_equal(pairs, layers, f"tuple of {len(gold.items)}")


def _lists(gold: Group, answer: Group, layers: Layers) -> Verdict:
    ours, theirs = _by_label(gold.items), _by_label(answer.items)
    shape = f"{gold.kind} of {len(gold.items)}"
    if ours and theirs and set(ours) == set(theirs):
        return all_equal([(ours[label], theirs[label]) for label in ours], layers, shape)
    if ours and not theirs and len(ours) == len(answer.items) and not _is_numbered(ours):
        # The names of the gold have an order; a bare gold has none.
        return all_equal(zip(ours.values(), answer.items, strict=True), layers, shape)
    if _is_union(gold) or _is_union(answer):
        return _real_sets(gold, answer, layers)
    return any_order(_bare(gold.items), _bare(answer.items), layers, shape)


def _by_label(items: Sequence[Node]) -> dict[str, Node]:
    """Members by their labels where each has one of its own, else nothing."""
    labels = {item.label: item for item in items if isinstance(item, Labelled)}
    return dict(labels) if len(labels) == len(items) else {}


def _is_numbered(labels: dict[str, Node]) -> bool:
    """x_1, x_2: members of one family, whose numbering nobody asked for."""
    return len({re.sub(r"_?\d+$", "", label) for label in labels}) == 1


def _bare(items: Sequence[Node]) -> Sequence[Node]:
    """``n = 4, 6, 9`` labels all three; ``x = 1, x = 2`` are two values of x."""
    labels = [item.label for item in items if isinstance(item, Labelled)]
    if len(set(labels)) != 1 or not isinstance(items[0], Labelled):
        return items
    return [item.value if isinstance(item, Labelled) else item for item in items]


_SINGLES = (Scalar, Words, Equation, Inequality, Clock, Ratio, Residue, Piecewise)
_LABEL_FREE = (Scalar, Words, Matrix, Clock, Interval, Union, Group, Residue, Piecewise, Ratio)


@rule(*((Group, other) for other in _SINGLES))
def _single(gold: Group, answer: Node, layers: Layers) -> Verdict:
    """A set of one is its member; two vectors may be written in two ways."""
    if isinstance(answer, Scalar) and (vector := _components(answer, len(gold.items))):
        return compare(gold, vector, layers)
    if isinstance(answer, Inequality) and _is_union(gold):
        return _real_sets(gold, answer, layers)
    if len(gold.items) == 1 and gold.kind != "tuple":
        return compare(gold.items[0], answer, layers)
    return different(gold, answer)


def _components(node: Scalar, length: int) -> Group | None:
    """``2\\mathbf{i} - \\mathbf{j}`` as the tuple (2, -1)."""
    if not 2 <= length <= len(_UNIT_VECTORS):
        return None
    named = polynomial.is_linear(node.tree, _UNIT_VECTORS)
    if named is None or not named.isdisjoint(_UNIT_VECTORS[length:]):
        return None
    return Group("tuple", tuple(_component(node, name) for name in _UNIT_VECTORS[:length]))


def _component(node: Scalar, wanted: str) -> Scalar:
    tree = node.tree
    for name in _UNIT_VECTORS:
        tree = put(tree, ("sym", name), ("num", "1" if name == wanted else "0"))
    return scalar(tree)


@rule(*((Labelled, other) for other in _LABEL_FREE))
def _label_dropped(gold: Labelled, answer: Node, layers: Layers) -> Verdict:
    if isinstance(answer, Group) and isinstance(gold.value, Group):
        return compare(_unzipped(gold, answer), answer, layers)
    return compare(gold.value, answer, layers)


def _unzipped(gold: Labelled, answer: Group) -> Node:
    """(p, q) = (3, 2) as the list p = 3, q = 2, where the answer is written so."""
    value = gold.value
    names = gold.label.removeprefix("(").removesuffix(")").split(",")
    if not isinstance(value, Group) or not _by_label(answer.items):
        return value
    if len(names) != len(value.items):
        return value
    return Group("list", tuple(map(Labelled, names, value.items)))


@rule((Interval, Interval))
def _intervals(gold: Interval, answer: Interval, layers: Layers) -> Verdict:
    if gold.closed != answer.closed:
        return Verdict(False, "interval: an end is closed in one and open in the other")
    return all_equal([(gold.low, answer.low), (gold.high, answer.high)], layers, "interval")


@rule((Interval, Group))
def _interval_as_group(gold: Interval, answer: Group, layers: Layers) -> Verdict:
    """(0, 1) reads as a pair until the other side is an interval."""
    if answer.kind == "tuple" and len(answer.items) == 2:
        low, high = answer.items
        if isinstance(low, Scalar) and isinstance(high, Scalar):
            return _intervals(gold, interval(low, high, (False, False)), layers)
    if len(answer.items) == 1 and answer.kind != "tuple":
        return compare(gold, answer.items[0], layers)
    return _real_sets(gold, answer, layers) if _is_union(answer) else different(gold, answer)


def _is_union(group: Group) -> bool:
    """Whether a list can be one set of reals: x < 1 or x > 3; x != 1, x != 2."""
    ranges = [sets.is_range(item) for item in group.items]
    if group.kind != "list" or not any(ranges):
        return False
    bound_together = group.alternatives or group.together
    if not bound_together and not all(map(_may_be_range, group.items)):
        return False
    names = {item.label for item in group.items if isinstance(item, Labelled)}
    return len(names) <= 1


@rule(
    (Union, Union), (Union, Interval), (Union, Group), (Inequality, Interval), (Inequality, Union)
)
def _real_sets(gold: Node, answer: Node, layers: Layers) -> Verdict:
    """Sets of reals, each as its pieces in order; with ends that are no constants, by member."""
    if isinstance(answer, Group) and not (
        _is_union(answer) or _is_pair(answer) or answer.kind == "set"
    ):
        return different(gold, answer)
    if isinstance(gold, Inequality) and gold.operators != ("≠",):
        return different(gold, answer)
    ours, theirs = sets.pieces(gold), sets.pieces(answer)
    if ours is None or theirs is None:
        return _by_member(gold, answer, layers)
    if len(ours) != len(theirs):
        return Verdict(False, f"union: {len(ours)} pieces are not {len(theirs)}")
    pairs: list[tuple[Node, Node]] = []
    for left, right in zip(ours, theirs, strict=True):
        for one, other in zip(left, right, strict=True):
            if one.closed != other.closed:
                return Verdict(False, "union: an end is closed in one and open in the other")
            pairs.append((one.scalar, other.scalar))
    return all_equal(pairs, layers, "union")


def _is_pair(group: Group) -> bool:
    return group.kind == "tuple" and len(group.items) == 2


def _may_be_range(item: Node) -> bool:
    removed = isinstance(item, Scalar)  # the 2 of x != 1, 2
    return removed or sets.is_range(item) or (isinstance(item, Group) and _is_pair(item))


def _by_member(gold: Node, answer: Node, layers: Layers) -> Verdict:
    if not isinstance(gold, Union | Group) or not isinstance(answer, Union | Group):
        return different(gold, answer)
    ours, theirs = _ranges(gold.items), _ranges(answer.items)
    if len(ours) != len(theirs):
        return Verdict(False, f"union: {len(ours)} members are not {len(theirs)}")
    return paired(ours, theirs, layers, "union")


def _ranges(items: Sequence[Node]) -> list[Node]:
    """Members of a union: pairs are open intervals, names are dropped."""
    return [_range(item.value if isinstance(item, Labelled) else item) for item in items]


def _range(item: Node) -> Node:
    if isinstance(item, Group) and _is_pair(item):
        low, high = item.items
        if isinstance(low, Scalar) and isinstance(high, Scalar):
            return interval(low, high, (False, False))
    return item


@rule((Matrix, Matrix))
def _matrices(gold: Matrix, answer: Matrix, layers: Layers) -> Verdict:
    if (len(gold.rows), len(gold.rows[0])) != (len(answer.rows), len(answer.rows[0])):
        return Verdict(False, "matrix: different shapes")
    ours = [entry for row in gold.rows for entry in row]
    theirs = [entry for row in answer.rows for entry in row]
    return all_equal(zip(ours, theirs, strict=True), layers, "matrix")


@rule((Matrix, Group))
def _matrix_as_group(gold: Matrix, answer: Group, layers: Layers) -> Verdict:
    """A row or column against a tuple; rows against a tuple of tuples."""
    rows = tuple(map(_row, answer.items))
    if answer.kind == "tuple" and len({len(row) for row in rows}) == 1 and rows[0]:
        return compare(gold, Matrix(rows), layers)
    entries = [entry for row in gold.rows for entry in row]
    if answer.kind != "tuple" or 1 not in (len(gold.rows), len(gold.rows[0])):
        return different(gold, answer)
    if len(entries) != len(answer.items):
        return different(gold, answer)
    return all_equal(zip(entries, answer.items, strict=True), layers, "vector")


def _row(item: Node) -> tuple[Node, ...]:
    """The entries of ``[1, 2]`` or ``(1, 2)`` within brackets; () for anything else."""
    if isinstance(item, Interval) and item.closed == (True, True):
        return (item.low, item.high)
    return item.items if isinstance(item, Group) and item.kind == "tuple" else ()


@rule((Matrix, Scalar))
def _matrix_as_vector(gold: Matrix, answer: Scalar, layers: Layers) -> Verdict:
    """A column against unit vectors, or against two numbers typeset as \\binom{2}{-1}."""
    entries = tuple(entry for row in gold.rows for entry in row)
    if 1 not in (len(gold.rows), len(gold.rows[0])):
        return different(gold, answer)
    if answer.tree[:2] == ("fn", "binom") and len(gold.rows) == 2 == len(entries):
        pair = Group("tuple", (scalar(answer.tree[2]), scalar(answer.tree[3])))
        return compare(gold, pair, layers)
    return compare(Group("tuple", entries), answer, layers)


@rule((Piecewise, Piecewise))
def _piecewise(gold: Piecewise, answer: Piecewise, layers: Layers) -> Verdict:
    if len(gold.cases) != len(answer.cases):
        return different(gold, answer)
    return paired(gold.cases, answer.cases, layers, f"{len(gold.cases)} cases")
