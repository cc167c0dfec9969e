"""The layers of equality between two expressions, cheap before dear, as one table.

A layer answers True, False, or None for "not mine to decide". The parent process runs
``CHEAP``; ``symbolic`` adds its own rows in the killable child.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from cascade_rl_math.exact import Decimal
from cascade_rl_math.nodes import Scalar, is_infinite
from cascade_rl_math.parse import Ast


@dataclass(frozen=True)
class Verdict:
    """Whether two answers are equal (None: undecided so far) and which layer said so."""

    equal: bool | None
    layer: str = ""


UNDECIDED = Verdict(None)

ScalarLayer = Callable[[Scalar, Scalar], bool | None]
#: Two equations (left minus right each): the same solutions?
EquationLayer = Callable[[Ast, Ast], bool | None]
#: An equation and a value: is it this value that the equation gives its one linear symbol?
SolutionLayer = Callable[[Ast, Ast], bool | None]


@dataclass(frozen=True)
class Layers:
    """What a process can decide: (name, layer) rows, tried in order."""

    scalars: tuple[tuple[str, ScalarLayer], ...]
    equations: tuple[tuple[str, EquationLayer], ...] = field(default=())
    solutions: tuple[tuple[str, SolutionLayer], ...] = field(default=())


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


_SIGN_UNITS = {"": "", "percent": "", "degree": "deg"}


def different_units(gold: Scalar, answer: Scalar) -> bool | None:
    """Two known units that differ: 12 cm is not 12 m. A missing unit is forgiven."""
    ours, theirs = (side.unit or _SIGN_UNITS[side.sign] for side in (gold, answer))
    return False if ours and theirs and ours != theirs else None


def exact_number(gold: Scalar, answer: Scalar) -> bool | None:
    """Fractions compared as fractions."""
    if gold.value is None or answer.value is None:
        return None
    if any(left == right for left, right in value_pairs(gold, answer)):
        return True
    return None if rounding_applies(gold, answer) else False


def rounded_number(gold: Scalar, answer: Scalar) -> bool | None:
    """An exact value against one that was written rounded; see ``matches_rounded``."""
    if gold.value is None or answer.value is None:
        return None
    pairs = value_pairs(gold, answer)
    return any(matches_rounded(gold, answer, left, right) for left, right in pairs)


def value_pairs(gold: Scalar, answer: Scalar) -> list[tuple[Fraction, Fraction]]:
    """The values to compare, by percent and degree signs (both must have a value).

    With both signs, or neither, the bare values. A percentage is its hundredth, and where
    only one side shows the sign it may also be taken for a unit left out: 10 for 10 %, but
    not 0.5 for 0.5 % where the gold is the 0.5. Nothing else ever differs by 100.
    """
    assert gold.value is not None
    assert answer.value is not None
    bare = (gold.value, answer.value)
    if gold.sign == answer.sign or "degree" in (gold.sign, answer.sign):
        return [bare] if {gold.sign, answer.sign} != {"degree", "percent"} else []
    if gold.sign == "percent":
        return [bare, (gold.value / 100, answer.value)]
    hundredth = (gold.value, answer.value / 100)
    return [bare, hundredth] if abs(gold.value) > 1 else [hundredth]


def rounding_applies(gold: Scalar, answer: Scalar) -> bool:
    """Whether one of the two was written as a decimal with enough digits to be a rounding."""
    return _rounded(gold.decimal, ROUNDED_GOLD_DIGITS) or _rounded(
        answer.decimal, PRECISE_ANSWER_DIGITS
    )


def _rounded(decimal: Decimal | None, digits: int) -> bool:
    return decimal is not None and decimal.significant >= digits


def matches_rounded(gold: Scalar, answer: Scalar, left: Fraction, right: Fraction) -> bool:
    """Whether ``left`` and ``right`` agree within the last digit that one of them shows.

    Either the gold is a decimal and the answer rounds to it (an exact answer needs a gold of
    3 significant digits, an answer that is a decimal itself one of 4, and no fewer places
    than the gold); or the answer is a decimal of 10 or more digits and the gold, exact,
    rounds or is cut to it.
    """
    shown, given = gold.decimal, answer.decimal
    gap = abs(left - right)
    if shown is not None:
        needed = ROUNDED_GOLD_DIGITS if given is None else ROUNDED_GOLD_DIGITS_FOR_DECIMALS
        fine = given is None or given.places >= shown.places
        if shown.significant >= needed and fine and gap <= shown.half_unit * _scale(gold, left):
            return True
    return _rounded(given, PRECISE_ANSWER_DIGITS) and shown is None and _cut(given, gap)


def _cut(given: Decimal | None, gap: Fraction) -> bool:
    return given is not None and gap < 2 * given.half_unit


def _scale(gold: Scalar, left: Fraction) -> Fraction:
    # A percentage compared as its hundredth has its last digit moved by as much.
    return Fraction(1, 100) if gold.sign == "percent" and left != gold.value else Fraction(1)


CHEAP = Layers(
    scalars=(
        ("unit", different_units),
        ("text", same_text),
        ("exact number", exact_number),
        ("rounded decimal", rounded_number),
    ),
)
