"""Expressions at points: agreement to a hundred digits at seeded points, over the reals.

Lives in the child process (it imports mpmath). A difference at one point refutes equality;
no difference at any point is taken for equality. A value is trusted where a higher
precision repeats it; what only ever shrinks as the precision grows is zero. Points at
which both sides are undefined or not real say nothing; where only one side is real, they
differ.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath
from mpmath import mp

from cascade_rl_math.exact import exact
from cascade_rl_math.numeric_functions import FUNCTIONS, LARGEST_EXPONENT, Undefined
from cascade_rl_math.tree import Ast, holds, parts, symbols

_ENOUGH = 3
#: Decimal digits to work with; the last is for sums that cancel almost to nothing.
_PRECISIONS = (50, 150, 300)
_SETTLED_DIGITS = 25
_EQUAL_DIGITS = 100
_REAL_DIGITS = 60
_SMALL_POWER = 1_000
#: Where the variables are drawn from: first a range on which most functions are defined.
_RANGES = [(0.05, 0.95)] * 2 + [(0.3, 3.0)] * 2 + [(2.0, 20.0)] + [(-3.0, 3.0)] * 3
_REAL_POINTS = range(len(_RANGES))
#: At these points every variable is a whole number from 2 to 20.
_WHOLE_POINTS = range(len(_RANGES), len(_RANGES) + 6)


def agree(gold: Ast, answer: Ast) -> bool | None:
    """Whether two expressions are equal at every point; None where too few points decide.

    Real values decide where there are enough of them, else complex principal values. A
    logarithm without a base is natural, or else common on both sides.
    """
    same = _agree_somewhere(gold, answer)
    if same is not False or not (holds(gold, _is_bare_log) or holds(answer, _is_bare_log)):
        return same
    return _agree_somewhere(_common_logs(gold), _common_logs(answer))


def _is_bare_log(tree: Ast) -> bool:
    return tree[:2] == ("fn", "log") and len(tree) == 3


def _common_logs(tree: Ast) -> Ast:
    if _is_bare_log(tree):
        return ("fn", "lg", _common_logs(tree[2]))
    return tuple(_common_logs(part) if isinstance(part, tuple) else part for part in tree)


def _agree_somewhere(gold: Ast, answer: Ast) -> bool | None:
    if _mentions_i(gold) or _mentions_i(answer):
        return _agree(gold, answer, over_reals=False)
    if holds(gold, _is_alternating) or holds(answer, _is_alternating):
        return _agree(gold, answer, over_reals=True, points=_WHOLE_POINTS)
    real = _agree(gold, answer, over_reals=True)
    return real if real is not None else _agree(gold, answer, over_reals=False)


def _is_alternating(tree: Ast) -> bool:
    """A power such as (-1)^n, which is real at whole numbers only."""
    if tree[0] != "pow" or not symbols(tree[2]):
        return False
    base = exact(tree[1])
    return base is not None and base < 0


def _agree(gold: Ast, answer: Ast, over_reals: bool, points: range = _REAL_POINTS) -> bool | None:
    needed = _ENOUGH if symbols(gold) | symbols(answer) else 1
    decided = 0
    for point in points if needed > 1 else points[:1]:
        same = _same_at(gold, answer, point, over_reals)
        if same is False:
            return False
        decided += same is True
    return True if decided >= needed else None


def proportional(left: Ast, right: Ast) -> bool | None:
    """Whether one expression is a constant multiple (not zero) of the other."""
    ratios = []
    for point in _REAL_POINTS:
        above, below = settled(left, point), settled(right, point)
        if above is not None and below:
            ratios.append(above / below)
    if len(ratios) < _ENOUGH:
        return None
    return bool(ratios[0]) and all(_close(ratio, ratios[0], _SETTLED_DIGITS) for ratio in ratios)


def number(tree: Ast) -> Fraction | None:
    """The real value of an expression without variables, to some fifty digits."""
    value = settled(tree, 0) if not symbols(tree) else None
    if value is None or not _is_real(value):
        return None
    return Fraction(*mpmath.libmp.to_rational(mpmath.re(value)._mpf_))


def _same_at(gold: Ast, answer: Ast, point: int, over_reals: bool) -> bool | None:
    left, right = settled(gold, point), settled(answer, point)
    if left is None or right is None:
        return None
    if over_reals and not (_is_real(left) and _is_real(right)):
        return None if _is_real(left) == _is_real(right) else False
    return _close(left, right, _EQUAL_DIGITS)


def _close(left: Any, right: Any, digits: int) -> bool:
    with mp.workdps(_PRECISIONS[-1]):
        return bool(abs(left - right) <= max(abs(left), abs(right)) * mpmath.mpf(10) ** -digits)


def _is_real(value: Any) -> bool:
    return bool(abs(mpmath.im(value)) <= max(abs(value), 1) * mpmath.mpf(10) ** -_REAL_DIGITS)


@lru_cache(maxsize=512)
def settled(tree: Ast, point: int) -> Any | None:
    """The value of a tree at a point, as soon as two precisions agree on it.

    Zero where none do: then all digits were rounding. None where it is undefined.
    """
    last = None
    for digits in _PRECISIONS:
        value = _value_at(tree, point, digits)
        if value is None:
            return None
        if last is not None and _close(value, last, _SETTLED_DIGITS):
            return value
        last = value
    return mpmath.mpf(0)


def _value_at(tree: Ast, point: int, digits: int) -> Any | None:
    with mp.workdps(digits):
        try:
            return _Walk(point).value(tree)
        except (Undefined, ArithmeticError, ValueError, mpmath.libmp.NoConvergence):
            return None


def _mentions_i(tree: Ast) -> bool:
    return holds(tree, lambda part: part == ("const", "i"))


def _drawn(name: str, point: int) -> Any:
    """A variable's value at a point: depends on nothing but the two."""
    draw = random.Random(f"{name} {point}")  # noqa: S311 - reproducible, not secret
    if point in _WHOLE_POINTS:
        return mpmath.mpf(draw.randint(2, 20))
    low, high = _RANGES[point]
    return mpmath.mpf(low) + (high - low) * mpmath.mpf(draw.getrandbits(100)) / 2**100


class _Walk:
    """One evaluation of a tree at one point."""

    def __init__(self, point: int) -> None:
        self._point = point
        self._known: dict[str, Any] = {}

    def value(self, tree: Ast) -> Any:
        result = _RULES[tree[0]](self, tree)
        if not mpmath.isfinite(result):
            raise Undefined
        return result

    def _parts(self, tree: Ast) -> list[Any]:
        return [self.value(part) for part in parts(tree)]

    def _num(self, tree: Ast) -> Any:
        return _ratio(exact(tree) or Fraction(0))

    def _sym(self, tree: Ast) -> Any:
        name = tree[1]
        if name not in self._known:
            self._known[name] = _drawn(name, self._point)
        return self._known[name]

    def _const(self, tree: Ast) -> Any:
        if tree[1] == "oo":
            raise Undefined
        if tree[1] == "none":
            return _drawn("a bound left out", self._point)
        return {"pi": mp.pi, "e": mp.e, "i": mpmath.mpc(0, 1)}[tree[1]] + 0

    def _add(self, tree: Ast) -> Any:
        return mpmath.fsum(self._parts(tree))

    def _mul(self, tree: Ast) -> Any:
        return mpmath.fprod(self._parts(tree))

    def _neg(self, tree: Ast) -> Any:
        return -self.value(tree[1])

    def _div(self, tree: Ast) -> Any:
        above, below = self._parts(tree)
        return above / below

    def _pow(self, tree: Ast) -> Any:
        base, ratio = self.value(tree[1]), exact(tree[2])
        if ratio is not None and ratio.denominator == 1 and abs(ratio) <= _SMALL_POWER:
            return base**ratio.numerator
        exponent = self.value(tree[2]) if ratio is None else _ratio(ratio)
        if base and abs(exponent) * abs(mpmath.mag(base)) > LARGEST_EXPONENT:
            raise Undefined
        if ratio is not None and ratio.denominator == 1:
            return base**ratio.numerator
        if ratio is not None and ratio.denominator % 2 and mpmath.im(base) == 0 > mpmath.re(base):
            # The real root of a negative number, as written with a root sign.
            sign = -1 if ratio.numerator % 2 else 1
            return sign * mpmath.power(-base, exponent)
        return mpmath.power(base, exponent)

    def _percent(self, tree: Ast) -> Any:
        return self.value(tree[1]) / 100

    def _degree(self, tree: Ast) -> Any:
        return self.value(tree[1]) * mp.pi / 180

    def _base(self, tree: Ast) -> Any:
        return _drawn(f"{tree[1]} in base {tree[2]}", self._point)

    def _mixed(self, tree: Ast) -> Any:
        return _ratio(int(tree[1]) + Fraction(int(tree[2]), int(tree[3])))

    def _apply(self, tree: Ast) -> Any:
        # An unknown function: any fixed smooth one will do, the same wherever it is named.
        total = mpmath.mpf(0)
        for index, argument in enumerate(self._parts(tree)):
            seed = hashlib.blake2b(f"{tree[1]} {index}".encode(), digest_size=8).digest()
            total += mpmath.sin((1 + int.from_bytes(seed, "big") / 2**64) * argument) + argument / 7
        return total

    def _bound(self, tree: Ast) -> Any:
        # Not worked out: a fixed mixture of the bounds and of the body at three values of its
        # variable, so that two are equal where they are the same sum or integral.
        _, kind, low, high, body = tree
        if (known := exact(tree)) is not None:
            return _ratio(known)
        mixed = self.value(low) * mpmath.sqrt(2) + self.value(high) * mpmath.sqrt(3)
        for name in sorted(name for name in symbols(body) if name.startswith("bound ")):
            for shift in range(3):
                walk = _Walk(self._point)
                walk._known = {**self._known, name: _drawn(f"{kind} {name} {shift}", self._point)}
                mixed += (shift + mpmath.sqrt(5)) * walk.value(body)
            return mixed
        return mixed + mpmath.sqrt(7) * self.value(body)

    def _fn(self, tree: Ast) -> Any:
        rule = FUNCTIONS.get(tree[1])
        if rule is None:
            raise Undefined
        arguments = self._parts(tree)
        try:
            return rule(*arguments)
        except TypeError as error:  # the number of arguments, or an order of complex numbers
            raise Undefined from error


def _ratio(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


_RULES: dict[str, Callable[[_Walk, Ast], Any]] = {
    "num": _Walk._num,
    "sym": _Walk._sym,
    "const": _Walk._const,
    "add": _Walk._add,
    "mul": _Walk._mul,
    "neg": _Walk._neg,
    "div": _Walk._div,
    "pow": _Walk._pow,
    "percent": _Walk._percent,
    "degree": _Walk._degree,
    "base": _Walk._base,
    "mixed": _Walk._mixed,
    "apply": _Walk._apply,
    "bound": _Walk._bound,
    "fn": _Walk._fn,
}
