"""Nodes against nodes: structure member by member, expressions by the layers given.

Three-valued: where a pair is beyond the layers at hand the whole is undecided, unless some
other pair already makes it unequal. Rules for pairs of types are in one table; each is
written for one order of the two and serves both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from cascade_rl_math.layers import UNDECIDED, Layers, ScalarLayer, Verdict
from cascade_rl_math.limits import Unreadable
from cascade_rl_math.nodes import Group, Interval, Node, Scalar

Rule = Callable[[Any, Any, Layers], Verdict]
_rules: dict[tuple[type, type], Rule] = {}


def rule(*pairs: tuple[type, type]) -> Callable[[Rule], Rule]:
    """Register a function for pairs of types: (type of gold, type of answer)."""

    def register(function: Rule) -> Rule:
        _rules.update(dict.fromkeys(pairs, function))
        return function

    return register


def compare(gold: Node, answer: Node, layers: Layers) -> Verdict:
    """Whether an answer equals the gold. Equality is the same in both directions."""
    try:
        found = _rules.get((type(gold), type(answer)))
        if found is not None:
            return found(gold, answer, layers)
        turned = _rules.get((type(answer), type(gold)))
        if turned is not None:
            return turned(answer, gold, _turned(layers))
    except Unreadable:  # a rewritten expression may divide by zero: then nothing is shown
        return Verdict(False, "structure")
    return different(gold, answer)


def _turned(layers: Layers) -> Layers:
    # The layers still see gold first.
    return replace(
        layers,
        scalars=tuple((name, _swapped(layer)) for name, layer in layers.scalars),
    )


def _swapped(layer: ScalarLayer) -> ScalarLayer:
    return lambda gold, answer: layer(answer, gold)


def different(gold: Node, answer: Node) -> Verdict:
    """Unequal because the two are not of one kind."""
    return Verdict(False, f"structure: {_named(gold)} is not {_named(answer)}")


def _named(node: Node) -> str:
    if isinstance(node, Group):
        return f"a {node.kind} of {len(node.items)}"
    return {Scalar: "an expression", Interval: "an interval"}.get(
        type(node), f"a {type(node).__name__.lower()}"
    )


def all_equal(pairs: Iterable[tuple[Node, Node]], layers: Layers, shape: str) -> Verdict:
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


def any_order(gold: Sequence[Node], answer: Sequence[Node], layers: Layers, shape: str) -> Verdict:
    """Equal where the members pair off, in order where the rules say so."""
    if len(gold) != len(answer):
        return Verdict(False, f"{shape}: {len(gold)} members are not {len(answer)}")
    if layers.rules.order == "required":
        return all_equal(zip(gold, answer, strict=True), layers, shape)
    return paired(gold, answer, layers, shape)


def paired(gold: Sequence[Node], answer: Sequence[Node], layers: Layers, shape: str) -> Verdict:
    """Equal where the members pair off. Equality is transitive, so the first match will do."""
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
