"""The layers of equality between two expressions, cheap before dear, as one table.

A layer answers True, False, or None for "not mine to decide". The parent process runs
those of ``cheap``; ``symbolic`` adds its own rows in the killable child.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from cascade_rl_math import polynomial
from cascade_rl_math.exact import Decimal
from cascade_rl_math.nodes import Scalar, is_infinite
from cascade_rl_math.rules import Rules
from cascade_rl_math.tree import Ast, holds


@dataclass(frozen=True)
class Verdict:
    """Whether two answers are equal (None: undecided so far) and which layer said so."""

    equal: bool | None
    layer: str = ""


UNDECIDED = Verdict(None)

ScalarLayer = Callable[[Scalar, Scalar], bool | None]
#: Two equations (left minus right each), or two inequalities: the same solutions?
TreeLayer = Callable[[Ast, Ast], bool | None]


@dataclass(frozen=True)
class Layers:
    """What a process can decide: (name, layer) rows, tried in order.

    ``equations`` and ``bounds`` compare left minus right up to a factor (positive for
    bounds); ``solutions`` take an equation and a value: is it this value that the equation
    gives its one linear symbol?
    """

    rules: Rules
    scalars: tuple[tuple[str, ScalarLayer], ...]
    equations: tuple[tuple[str, TreeLayer], ...] = field(default=())
    bounds: tuple[tuple[str, TreeLayer], ...] = field(default=())
    solutions: tuple[tuple[str, TreeLayer], ...] = field(default=())


def decide(layers: tuple[tuple[str, Callable[..., bool | None]], ...], *sides: object) -> Verdict:
    """The verdict of the first layer that has one."""
    for name, layer in layers:
        equal = layer(*sides)
        if equal is not None:
            return Verdict(equal, name)
    return UNDECIDED


#: Significant digits from which a written decimal may stand for an exact value.
ROUNDED_GOLD_DIGITS = 3
ROUNDED_GOLD_DIGITS_FOR_DECIMALS = 4
PRECISE_ANSWER_DIGITS = 10


def same_text(gold: Scalar, answer: Scalar) -> bool | None:
    """The same expression, however it was typeset; infinity equals nothing else."""
    if (gold.tree, gold.sign) == (answer.tree, answer.sign):
        return True
    return False if is_infinite(gold) or is_infinite(answer) else None


def ellipsis(gold: Scalar, answer: Scalar) -> bool | None:
    """``1 + 2 + ... + n``: what the dots stand for is not computed, so only the text counts."""
    dotted = holds(gold.tree, _is_dots) or holds(answer.tree, _is_dots)
    return False if dotted else None


def _is_dots(tree: Ast) -> bool:
    return tree == ("sym", "…")


def exact_number(gold: Scalar, answer: Scalar, rules: Rules) -> bool | None:
    """Fractions compared as fractions."""
    if gold.value is None or answer.value is None:
        return None
    if any(left == right for left, right in value_pairs(gold, answer, rules)):
        return True
    return None if rounding_applies(gold, answer, rules) else False


def rounded_number(gold: Scalar, answer: Scalar, rules: Rules) -> bool | None:
    """An exact value against one that was written rounded; see ``matches_rounded``."""
    if gold.value is None or answer.value is None:
        return None
    pairs = value_pairs(gold, answer, rules)
    return any(matches_rounded(gold, answer, left, right, rules) for left, right in pairs)


def value_pairs(gold: Scalar, answer: Scalar, rules: Rules) -> list[tuple[Fraction, Fraction]]:
    """The values to compare, by percent and degree signs (both must have a value).

    With both signs, or neither, the bare values. A percentage is its hundredth, and where
    only one side shows the sign it may also be taken for a unit left out: 10 for 10 %, but
    not 0.5 for 0.5 % where the gold is the 0.5. Nothing else ever differs by 100.
    """
    assert gold.value is not None
    assert answer.value is not None
    bare = (gold.value, answer.value)
    if gold.sign == answer.sign:
        return [bare]
    if "degree" in (gold.sign, answer.sign):
        return [] if {gold.sign, answer.sign} == {"degree", "percent"} else [bare]
    left_out = rules.percent == "either"
    if gold.sign == "percent":
        return [bare, (gold.value / 100, answer.value)][not left_out :]
    hundredth = (gold.value, answer.value / 100)
    return [bare, hundredth] if abs(gold.value) > 1 and left_out else [hundredth]


def rounding_applies(gold: Scalar, answer: Scalar, rules: Rules) -> bool:
    """Whether one of the two was written as a decimal with enough digits to be a rounding."""
    return (
        rules.precision is not None
        or _rounded(gold.decimal, ROUNDED_GOLD_DIGITS)
        or _rounded(answer.decimal, PRECISE_ANSWER_DIGITS)
    )


def _rounded(decimal: Decimal | None, digits: int) -> bool:
    return decimal is not None and decimal.significant >= digits


def matches_rounded(
    gold: Scalar, answer: Scalar, left: Fraction, right: Fraction, rules: Rules
) -> bool:
    """Whether ``left`` and ``right`` agree within the last digit that one of them shows.

    Either the gold is a decimal and the answer rounds to it (an exact answer needs a gold of
    3 significant digits, an answer that is a decimal itself one of 4, and no fewer places
    than the gold); or the answer is a decimal of 10 digits or more and the gold, exact,
    rounds or is cut to it. With a ``precision`` the two agree where they differ by at most
    half a unit of that place.
    """
    shown, given = gold.decimal, answer.decimal
    gap = abs(left - right)
    if rules.precision is not None:
        return gap <= Fraction(1, 2 * 10**rules.precision)
    if shown is not None:
        needed = ROUNDED_GOLD_DIGITS if given is None else ROUNDED_GOLD_DIGITS_FOR_DECIMALS
        fine = given is None or given.places >= shown.places
        close = gap <= shown.half_unit * _scale(gold, left)
        return shown.significant >= needed and fine and close
    return _rounded(given, PRECISE_ANSWER_DIGITS) and _cut(given, gap)


def _cut(given: Decimal | None, gap: Fraction) -> bool:
    return given is not None and gap < 2 * given.half_unit


def _scale(gold: Scalar, left: Fraction) -> Fraction:
    # A percentage compared as its hundredth has its last digit moved by as much.
    return Fraction(1, 100) if gold.sign == "percent" and left != gold.value else Fraction(1)


def signed(gold: Scalar, answer: Scalar) -> tuple[Ast, Ast]:
    """The trees with their percent and degree signs, where the two differ in them."""
    if gold.sign == answer.sign:
        return gold.tree, answer.tree
    left, right = ((side.sign, side.tree) if side.sign else side.tree for side in (gold, answer))
    return left, right


def same_form(gold: Scalar, answer: Scalar, rules: Rules) -> bool | None:
    """Normal forms compared; a decimal that may be rounded is left to the numbers."""
    equal = polynomial.same(*signed(gold, answer))
    written = gold.decimal is not None or answer.decimal is not None
    return None if equal is False and (written or rules.precision is not None) else equal


def same_up_to_positive_factor(gold: Ast, answer: Ast) -> bool:
    """Inequalities: a negative factor would turn them round."""
    factor = polynomial.ratio(gold, answer)
    return factor is not None and factor > 0


@lru_cache(maxsize=64)
def cheap(rules: Rules) -> Layers:
    """The layers that the calling process runs itself."""
    return Layers(
        rules=rules,
        scalars=(
            ("text", same_text),
            ("text, dots", ellipsis),
            ("exact number", lambda gold, answer: exact_number(gold, answer, rules)),
            ("rounded decimal", lambda gold, answer: rounded_number(gold, answer, rules)),
            ("symbolic", lambda gold, answer: same_form(gold, answer, rules)),
        ),
        equations=(("symbolic, equation", polynomial.same_zeros),),
        bounds=(("symbolic, inequality", same_up_to_positive_factor),),
    )
