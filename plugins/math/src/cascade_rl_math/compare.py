"""Nodes against nodes: structure member by member, expressions by the layers given.

Three-valued: where a pair is beyond the layers at hand the whole is undecided, unless some
other pair already makes it unequal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cascade_rl_math.layers import UNDECIDED, Layers, ScalarLayer, Verdict, decide
from cascade_rl_math.limits import Unreadable
from cascade_rl_math.nodes import (
    Clock,
    Equation,
    Group,
    Inequality,
    Interval,
    Labelled,
    Matrix,
    Node,
    Scalar,
    Union,
    Words,
    interval,
    scalar,
)
from cascade_rl_math.parse import rename, symbols

Rule = Callable[[Any, Any, Layers], Verdict]

#: Letters that name an arbitrary whole number; one may stand for another.
_PARAMETERS = frozenset("klmn")


def compare(gold: Node, answer: Node, layers: Layers) -> Verdict:
    """Whether an answer equals the gold. Equality is the same in both directions."""
    rule = _RULES.get((type(gold), type(answer)))
    if rule is not None:
        return rule(gold, answer, layers)
    turned = _RULES.get((type(answer), type(gold)))
    if turned is not None:
        return turned(answer, gold, _turned(layers))
    return _different(gold, answer)


def _turned(layers: Layers) -> Layers:
    # Rules are written once for each pair of types; the layers still see gold first.
    return Layers(
        tuple((name, _swapped(layer)) for name, layer in layers.scalars),
        layers.equations,
        layers.solutions,
    )


def _swapped(layer: ScalarLayer) -> ScalarLayer:
    return lambda gold, answer: layer(answer, gold)


def _different(gold: Node, answer: Node) -> Verdict:
    return Verdict(False, f"structure: {_named(gold)} is not {_named(answer)}")


def _named(node: Node) -> str:
    if isinstance(node, Group):
        return f"a {node.kind} of {len(node.items)}"
    return {Scalar: "an expression", Interval: "an interval"}.get(
        type(node), f"a {type(node).__name__.lower()}"
    )


def _all(pairs: Iterable[tuple[Node, Node]], layers: Layers, shape: str) -> Verdict:
    """Equal where every pair is; the dearest layer is named."""
    deciding: list[str] = []
    undecided = False
    for gold, answer in pairs:
        verdict = compare(gold, answer, layers)
        if verdict.equal is False:
            return Verdict(False, f"{shape}, {verdict.layer}")
        undecided = undecided or verdict.equal is None
        deciding.append(verdict.layer)
    return UNDECIDED if undecided else Verdict(True, f"{shape}, {_dearest(deciding, layers)}")


def _dearest(names: Sequence[str], layers: Layers) -> str:
    order = {name: rank for rank, (name, _) in enumerate(layers.scalars)}
    return max(names, key=lambda name: order.get(name, len(order)), default="empty")


def _any_order(gold: Sequence[Node], answer: Sequence[Node], layers: Layers, shape: str) -> Verdict:
    """Equal where the members pair off. Equality is transitive, so the first match will do."""
    if len(gold) != len(answer):
        return Verdict(False, f"{shape}: {len(gold)} members are not {len(answer)}")
    left = list(answer)
    deciding: list[str] = []
    undecided = False
    for member in gold:
        verdicts = [compare(member, other, layers) for other in left]
        match = next((index for index, verdict in enumerate(verdicts) if verdict.equal), None)
        if match is not None:
            deciding.append(verdicts[match].layer)
            del left[match]
        elif any(verdict.equal is None for verdict in verdicts):
            undecided = True
        else:
            return Verdict(False, f"{shape}: a member has no match")
    return UNDECIDED if undecided else Verdict(True, f"{shape}, {_dearest(deciding, layers)}")


def _scalars(gold: Scalar, answer: Scalar, layers: Layers) -> Verdict:
    verdict = decide(layers.scalars, gold, answer)
    if verdict.equal:
        return verdict
    return _renamed(gold, answer, layers) or verdict


def _renamed(gold: Scalar, answer: Scalar, layers: Layers) -> Verdict | None:
    """k pi and n pi: one whole-number parameter under two names."""
    ours, theirs = symbols(gold.tree), symbols(answer.tree)
    mine, other = ours - theirs, theirs - ours
    if len(mine) != 1 or len(other) != 1 or not (mine | other) <= _PARAMETERS:
        return None
    tree = rename(answer.tree, {min(other): min(mine)})
    return decide(layers.scalars, gold, scalar(tree, answer.unit))


def _groups(gold: Group, answer: Group, layers: Layers) -> Verdict:
    if "tuple" not in (gold.kind, answer.kind):
        return _lists(gold, answer, layers)
    if "set" in (gold.kind, answer.kind) or len(gold.items) != len(answer.items):
        return _different(gold, answer)
    return _all(zip(gold.items, answer.items, strict=True), layers, f"tuple of {len(gold.items)}")


def _lists(gold: Group, answer: Group, layers: Layers) -> Verdict:
    ours, theirs = _by_label(gold.items), _by_label(answer.items)
    shape = f"{gold.kind} of {len(gold.items)}"
    if ours and theirs and set(ours) == set(theirs):
        return _all([(ours[label], theirs[label]) for label in ours], layers, shape)
    if ours and not theirs and len(ours) == len(answer.items):
        return _all(zip(ours.values(), answer.items, strict=True), layers, shape)
    return _any_order(_bare(gold.items), _bare(answer.items), layers, shape)


def _by_label(items: Sequence[Node]) -> dict[str, Node]:
    """Members by their labels where each has one of its own, else nothing."""
    labels = {item.label: item for item in items if isinstance(item, Labelled)}
    return dict(labels) if len(labels) == len(items) else {}


def _bare(items: Sequence[Node]) -> Sequence[Node]:
    """``n = 4, 6, 9`` labels all three; ``x = 1, x = 2`` are two values of x."""
    labels = [item.label for item in items if isinstance(item, Labelled)]
    if len(set(labels)) != 1 or not isinstance(items[0], Labelled):
        return items
    return [item.value if isinstance(item, Labelled) else item for item in items]


def _single(gold: Group, answer: Node, layers: Layers) -> Verdict:
    """A set of one is its member; ``n = 4, 6`` against a bare structure loses its label."""
    if len(gold.items) == 1:
        return compare(gold.items[0], answer, layers)
    return _different(gold, answer)


def _labelled(gold: Labelled, answer: Labelled, layers: Layers) -> Verdict:
    if gold.label == answer.label:
        return compare(gold.value, answer.value, layers)
    if gold.arguments and len(gold.arguments) == len(answer.arguments):
        return compare(gold.value, _rename_bound(gold, answer), layers)
    if gold.equation is not None and answer.equation is not None and not gold.arguments:
        return decide(layers.equations, gold.equation, answer.equation)
    if bool(gold.arguments) != bool(answer.arguments):  # y = x + 1 for f(x) = x + 1
        return compare(gold.value, answer.value, layers)
    return Verdict(False, "structure: values of different names")


def _rename_bound(gold: Labelled, answer: Labelled) -> Node:
    value = answer.value
    if not isinstance(value, Scalar):
        return value
    names = dict(zip(answer.arguments, gold.arguments, strict=True))
    # Swapped, not replaced: the x of f(a) = x is not the x of f(x) = x.
    names |= {ours: theirs for theirs, ours in names.items() if ours not in names}
    return scalar(rename(value.tree, names), value.unit)


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


def _intervals(gold: Interval, answer: Interval, layers: Layers) -> Verdict:
    if gold.closed != answer.closed:
        return Verdict(False, "interval: an end is closed in one and open in the other")
    return _all([(gold.low, answer.low), (gold.high, answer.high)], layers, "interval")


def _interval_as_group(gold: Interval, answer: Group, layers: Layers) -> Verdict:
    """(0, 1) reads as a pair until the other side is an interval."""
    if answer.kind == "tuple" and len(answer.items) == 2:
        low, high = answer.items
        if isinstance(low, Scalar) and isinstance(high, Scalar):
            return _intervals(gold, interval(low, high, (False, False)), layers)
    return _single(answer, gold, _turned(layers))


def _unions(gold: Union, answer: Union, layers: Layers) -> Verdict:
    return _any_order(_ranges(gold.items), _ranges(answer.items), layers, "union")


def _ranges(items: Sequence[Node]) -> list[Node]:
    """Members of a union: pairs are open intervals, names are dropped."""
    return [_range(item.value if isinstance(item, Labelled) else item) for item in items]


def _range(item: Node) -> Node:
    if isinstance(item, Group) and item.kind == "tuple" and len(item.items) == 2:
        low, high = item.items
        if isinstance(low, Scalar) and isinstance(high, Scalar):
            return interval(low, high, (False, False))
    return item


def _union_as_group(gold: Union, answer: Group, layers: Layers) -> Verdict:
    """``x < 1 or x > 3`` is a union too."""
    if answer.kind == "list" and answer.alternatives:
        return _any_order(_ranges(gold.items), _ranges(answer.items), layers, "union")
    return _different(gold, answer)


def _matrices(gold: Matrix, answer: Matrix, layers: Layers) -> Verdict:
    if (len(gold.rows), len(gold.rows[0])) != (len(answer.rows), len(answer.rows[0])):
        return Verdict(False, "matrix: different shapes")
    ours = [entry for row in gold.rows for entry in row]
    theirs = [entry for row in answer.rows for entry in row]
    return _all(zip(ours, theirs, strict=True), layers, "matrix")


def _matrix_as_group(gold: Matrix, answer: Group, layers: Layers) -> Verdict:
    """A row or column vector against a tuple."""
    entries = [entry for row in gold.rows for entry in row]
    if answer.kind != "tuple" or 1 not in (len(gold.rows), len(gold.rows[0])):
        return _different(gold, answer)
    if len(entries) != len(answer.items):
        return _different(gold, answer)
    return _all(zip(entries, answer.items, strict=True), layers, "vector")


def _equations(gold: Equation, answer: Equation, layers: Layers) -> Verdict:
    if gold == answer:
        return Verdict(True, "text")
    return decide(layers.equations, gold.difference, answer.difference)


def _equation_as_label(gold: Equation, answer: Labelled, layers: Layers) -> Verdict:
    if answer.equation is None:
        return _different(gold, answer)
    same = decide(layers.equations, gold.difference, answer.equation)
    if same.equal or not isinstance(answer.value, Scalar):
        return same
    return decide(layers.solutions, gold.difference, answer.value.tree)


def _solution(gold: Equation, answer: Scalar, layers: Layers) -> Verdict:
    return decide(layers.solutions, gold.difference, answer.tree)


def _inequalities(gold: Inequality, answer: Inequality, layers: Layers) -> Verdict:
    if gold.operators != answer.operators:
        return Verdict(False, "inequality: different signs")
    return _all(zip(gold.sides, answer.sides, strict=True), layers, "inequality")


def _words(gold: Words, answer: Words, _layers: Layers) -> Verdict:
    return Verdict(gold == answer, "words")


def _clocks(gold: Clock, answer: Clock, _layers: Layers) -> Verdict:
    return Verdict(gold == answer, "text")


def _clock_as_ratio(gold: Clock, answer: Scalar, layers: Layers) -> Verdict:
    """A fraction can only mean the ratio."""
    if gold.minutes == 0 or answer.tree[0] != "div":
        return _different(gold, answer)
    tree = ("div", ("num", str(gold.hours)), ("num", str(gold.minutes)))
    return _scalars(scalar(tree), answer, layers)


def _safely(rule: Rule) -> Rule:
    """A rewritten expression may divide by zero or be too large: then nothing is shown."""

    def guarded(gold: Any, answer: Any, layers: Layers) -> Verdict:
        try:
            return rule(gold, answer, layers)
        except Unreadable:
            return Verdict(False, "structure")

    return guarded


_NOT_GROUPS = (Scalar, Words, Matrix, Equation, Inequality, Clock)
_NOT_LABELLED = (*_NOT_GROUPS, Interval, Union, Group)
_RULES: dict[tuple[type, type], Rule] = {
    (Scalar, Scalar): _safely(_scalars),
    (Words, Words): _words,
    (Clock, Clock): _clocks,
    (Clock, Scalar): _safely(_clock_as_ratio),
    (Group, Group): _groups,
    (Interval, Interval): _intervals,
    (Interval, Group): _interval_as_group,
    (Union, Union): _unions,
    (Union, Group): _union_as_group,
    (Matrix, Matrix): _matrices,
    (Matrix, Group): _matrix_as_group,
    (Labelled, Labelled): _safely(_labelled),
    (Equation, Equation): _equations,
    (Equation, Labelled): _equation_as_label,
    (Equation, Scalar): _solution,
    (Inequality, Inequality): _inequalities,
    **{(Group, other): _single for other in (Scalar, Words, Equation, Inequality, Clock)},
    **{(Labelled, other): _label_dropped for other in _NOT_LABELLED if other is not Equation},
}
