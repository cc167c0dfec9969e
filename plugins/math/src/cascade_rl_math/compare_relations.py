"""Rules for equations and inequalities: the same statement, the same solutions."""

from __future__ import annotations

from cascade_rl_math.compare import all_equal, compare, different, rule
from cascade_rl_math.layers import Layers, Verdict, decide
from cascade_rl_math.nodes import Equation, Inequality, Interval, Labelled, Scalar, is_infinite
from cascade_rl_math.tree import Ast, minus


@rule((Equation, Equation))
def _equations(gold: Equation, answer: Equation, layers: Layers) -> Verdict:
    if gold == answer:
        return Verdict(True, "text")
    return decide(layers.equations, gold.difference, answer.difference)


@rule((Equation, Labelled))
def _equation_as_label(gold: Equation, answer: Labelled, layers: Layers) -> Verdict:
    if answer.equation is None:
        return different(gold, answer)
    same = decide(layers.equations, gold.difference, answer.equation)
    if same.equal or not isinstance(answer.value, Scalar):
        return same
    return decide(layers.solutions, gold.difference, answer.value.tree)


@rule((Equation, Scalar))
def _solution(gold: Equation, answer: Scalar, layers: Layers) -> Verdict:
    return decide(layers.solutions, gold.difference, answer.tree)


@rule((Inequality, Inequality))
def _inequalities(gold: Inequality, answer: Inequality, layers: Layers) -> Verdict:
    if gold.operators != answer.operators:
        return Verdict(False, "inequality: different signs")
    direct = all_equal(zip(gold.sides, answer.sides, strict=True), layers, "inequality")
    if direct.equal or len(gold.operators) != 1:
        return direct
    if gold.operators == ("≠",):
        turned = all_equal(zip(gold.sides, answer.sides[::-1], strict=True), layers, "inequality")
        return turned if turned.equal else direct
    shifted = decide(layers.bounds, _difference(gold), _difference(answer))
    return shifted if shifted.equal else direct


@rule((Inequality, Labelled))
def _inequality_as_bound(gold: Inequality, answer: Labelled, layers: Layers) -> Verdict:
    """``2x > 4`` against x > 2: one side of each, up to a positive factor."""
    found = answer.value
    if gold.operators == ("≠",) and not isinstance(found, Scalar):
        return compare(gold, found, layers)
    if not isinstance(found, Interval) or len(gold.operators) != 1 or gold.operators == ("≠",):
        return different(gold, answer)
    name: Ast = ("sym", answer.label)
    closed = {"<": False, "≤": True}[gold.operators[0]]
    if is_infinite(found.low) and not is_infinite(found.high) and found.closed[1] == closed:
        return decide(layers.bounds, _difference(gold), minus(found.high.tree, name))
    if is_infinite(found.high) and not is_infinite(found.low) and found.closed[0] == closed:
        return decide(layers.bounds, _difference(gold), minus(name, found.low.tree))
    return Verdict(False, "inequality: different signs")


def _difference(node: Inequality) -> Ast:
    """Right minus left: what the inequality says is not negative."""
    return minus(node.sides[1].tree, node.sides[0].tree)
