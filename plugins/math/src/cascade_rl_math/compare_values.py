"""Rules for single values: expressions with their units, words, times, ratios, residues."""

from __future__ import annotations

from dataclasses import replace

from cascade_rl_math.compare import compare, different, rule
from cascade_rl_math.exact import exact
from cascade_rl_math.layers import Layers, Verdict, decide
from cascade_rl_math.nodes import Clock, Labelled, Node, Ratio, Residue, Scalar, Words, scalar
from cascade_rl_math.rules import Rules
from cascade_rl_math.tree import Ast, holds, rename, symbols
from cascade_rl_math.units import Unit

#: Letters that name an arbitrary whole number; one may stand for another.
_PARAMETERS = frozenset("klmn")
#: Letters that name an arbitrary constant, such as the one of an integral.
_CONSTANTS = frozenset(("C", "c", "K", "k", "C_1", "c_1"))
_RADIAN = (("radian", 1),)


@rule((Scalar, Scalar))
def _scalars(gold: Scalar, answer: Scalar, layers: Layers) -> Verdict:
    gold, answer = _as_quantities(gold, answer)
    matched = _in_one_unit(gold, answer, layers.rules)
    if matched is None:
        return Verdict(False, "unit")
    verdict = decide(layers.scalars, *matched)
    if verdict.equal:
        return verdict
    return _renamed(*matched, layers) or verdict


def _as_quantities(gold: Scalar, answer: Scalar) -> tuple[Scalar, Scalar]:
    """5 m is a number and a unit where the other side has a unit, else a product."""
    if gold.unit and answer.quantity:
        answer = answer.quantity
    elif answer.unit and gold.quantity:
        gold = gold.quantity
    return gold, answer


def _in_one_unit(gold: Scalar, answer: Scalar, rules: Rules) -> tuple[Scalar, Scalar] | None:
    """Both sides in the unit of the gold; None for units of different things.

    A unit left out is forgiven, unless the rules require it.
    """
    ours, theirs = gold.unit, answer.unit
    if (ours and answer.sign == "percent") or (theirs and gold.sign == "percent"):
        return None
    if "degree" in (gold.sign, answer.sign) and (ours or theirs):
        return _angles(gold, answer)
    if ours is None or theirs is None:
        bare = theirs is None and (ours is not None or gold.sign == "degree")
        missing = bare and answer.sign != "degree" and rules.units == "required"
        return None if missing and not _is_zero(answer) else (gold, answer)
    if ours.dimensions != theirs.dimensions:
        return None
    return gold, _rescaled(answer, ours, theirs)


def _is_zero(node: Scalar) -> bool:
    return node.value == 0


def _angles(gold: Scalar, answer: Scalar) -> tuple[Scalar, Scalar] | None:
    """Degrees beside radians are converted; degrees beside metres are not."""
    named = [side.unit.dimensions for side in (gold, answer) if side.unit]
    if any(dimensions != _RADIAN for dimensions in named):
        return None
    left, right = (
        Scalar(("degree", side.tree), None) if side.sign == "degree" else replace(side, unit=None)
        for side in (gold, answer)
    )
    return left, right


def _rescaled(answer: Scalar, ours: Unit, theirs: Unit) -> Scalar:
    factor = theirs.factor / ours.factor
    if factor == 1:
        return answer
    ratio: Ast = ("div", ("num", str(factor.numerator)), ("num", str(factor.denominator)))
    tree: Ast = ("mul", ratio, answer.tree)
    return replace(answer, tree=tree, value=exact(tree), unit=ours)


def _renamed(gold: Scalar, answer: Scalar, layers: Layers) -> Verdict | None:
    """k pi and n pi: one arbitrary number under two names."""
    ours, theirs = symbols(gold.tree), symbols(answer.tree)
    mine, other = ours - theirs, theirs - ours
    if len(mine) != 1 or len(other) != 1:
        return None
    old, new = min(other), min(mine)
    whole = {old, new} <= _PARAMETERS and not holds(gold.tree, lambda part: part[0] == "bound")
    constant = {old, new} <= _CONSTANTS and answer.tree[0] != "sym"
    if not whole and not constant:
        return None
    return decide(layers.scalars, gold, replace(answer, tree=rename(answer.tree, {old: new})))


@rule((Words, Words))
def _words(gold: Words, answer: Words, _layers: Layers) -> Verdict:
    return Verdict(gold == answer, "words")


@rule((Clock, Clock))
def _clocks(gold: Clock, answer: Clock, _layers: Layers) -> Verdict:
    """A half of the day may be left out, like a unit."""
    if gold.half and answer.half:
        return Verdict(_minute(gold) == _minute(answer), "time")
    same = (gold.hours % 12, gold.minutes) == (answer.hours % 12, answer.minutes)
    plain = (gold.hours, gold.minutes) == (answer.hours, answer.minutes)
    return Verdict(same if gold.half or answer.half else plain, "time")


def _minute(clock: Clock) -> int:
    return (clock.hours % 12 + 12 * (clock.half == "pm")) * 60 + clock.minutes


@rule((Clock, Scalar))
def _clock_as_ratio(gold: Clock, answer: Scalar, layers: Layers) -> Verdict:
    """A fraction can only mean the ratio."""
    if gold.half or gold.minutes == 0 or answer.tree[0] != "div":
        return different(gold, answer)
    tree: Ast = ("div", ("num", str(gold.hours)), ("num", str(gold.minutes)))
    return compare(scalar(tree), answer, layers)


@rule((Ratio, Ratio))
def _ratios(gold: Ratio, answer: Ratio, layers: Layers) -> Verdict:
    """Equal where all cross products with the first part are."""
    if len(gold.parts) != len(answer.parts):
        return Verdict(False, "ratio: a part too many or too few")
    ours, theirs = gold.parts[0].tree, answer.parts[0].tree
    decided = Verdict(True, "text")
    for left, right in zip(gold.parts[1:], answer.parts[1:], strict=True):
        decided = compare(
            scalar(("mul", left.tree, theirs)), scalar(("mul", right.tree, ours)), layers
        )
        if not decided.equal:
            break
    return replace(decided, layer=f"ratio, {decided.layer}")


@rule((Residue, Residue))
def _residues(gold: Residue, answer: Residue, layers: Layers) -> Verdict:
    same = compare(gold.modulus, answer.modulus, layers)
    modulus, ours, theirs = gold.modulus.value, gold.value.value, answer.value.value
    if not same.equal or modulus is None or ours is None or theirs is None or modulus == 0:
        return same if same.equal is False else compare(gold.value, answer.value, layers)
    return Verdict((ours - theirs) % modulus == 0, "exact number, residue")


@rule((Residue, Scalar))
def _residue_alone(gold: Residue, answer: Scalar, layers: Layers) -> Verdict:
    """A modulus left out is forgiven, like a unit."""
    return compare(gold.value, answer, layers)


@rule((Labelled, Labelled))
def _labelled(gold: Labelled, answer: Labelled, layers: Layers) -> Verdict:
    if gold.label == answer.label:
        return compare(gold.value, answer.value, layers)
    if gold.arguments and len(gold.arguments) == len(answer.arguments):
        return compare(gold.value, _rename_bound(gold, answer), layers)
    if gold.equation is not None and answer.equation is not None and not gold.arguments:
        return decide(layers.equations, gold.equation, answer.equation)
    if bool(gold.arguments) != bool(answer.arguments):  # y = x + 1 for f(x) = x + 1
        return compare(gold.value, answer.value, layers)
    if gold.label.casefold() == answer.label.casefold():
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
