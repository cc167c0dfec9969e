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

import mpmath  # type: ignore[import-untyped]  # sympy's arithmetic; ships no types
from mpmath import mp

from cascade_rl_math.exact import exact
from cascade_rl_math.parse import Ast, symbols

_POINTS = 11
_ENOUGH = 3
#: Decimal digits to work with; the last is for sums that cancel almost to nothing.
_PRECISIONS = (50, 150, 300)
_SETTLED_DIGITS = 25
_EQUAL_DIGITS = 100
_REAL_DIGITS = 60
#: Beyond these the result is not computed: e**1e6 has 434,000 digits before the point.
_LARGEST_EXPONENT = 10**6
_SMALL_POWER = 1_000
#: Where the variables are drawn from: first a range on which most functions are defined.
_RANGES = [(0.05, 0.95)] * 3 + [(0.3, 3.0)] * 3 + [(2.0, 20.0)] * 2 + [(-3.0, 3.0)] * 3


class Undefined(Exception):
    """The expression has no value here, or none that can be computed."""


def agree(gold: Ast, answer: Ast) -> bool | None:
    """Whether two expressions are equal at every point; None where too few points decide.

    Real values decide where there are enough of them, else complex principal values.
    """
    if _mentions_i(gold) or _mentions_i(answer):
        return _agree(gold, answer, over_reals=False)
    real = _agree(gold, answer, over_reals=True)
    return real if real is not None else _agree(gold, answer, over_reals=False) or None


def _agree(gold: Ast, answer: Ast, over_reals: bool) -> bool | None:
    needed = _ENOUGH if symbols(gold) | symbols(answer) else 1
    decided = 0
    for point in range(_POINTS if needed > 1 else 1):
        same = _same_at(gold, answer, point, over_reals)
        if same is False:
            return False
        decided += same is True
    return True if decided >= needed else None


def proportional(left: Ast, right: Ast) -> bool | None:
    """Whether one expression is a constant multiple (not zero) of the other."""
    ratios = []
    for point in range(_POINTS):
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


@lru_cache(maxsize=20_000)
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
    return tree == ("const", "i") or any(
        _mentions_i(part) for part in tree[1:] if isinstance(part, tuple)
    )


def _drawn(name: str, point: int) -> Any:
    """A variable's value at a point: depends on nothing but the two."""
    draw = random.Random(f"{name} {point}")  # noqa: S311 - reproducible, not secret
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
        return [self.value(part) for part in tree[1:] if isinstance(part, tuple)]

    def _num(self, tree: Ast) -> Any:
        return _ratio(Fraction(tree[1]))

    def _sym(self, tree: Ast) -> Any:
        name = tree[1]
        if name not in self._known:
            self._known[name] = _drawn(name, self._point)
        return self._known[name]

    def _const(self, tree: Ast) -> Any:
        if tree[1] == "oo":
            raise Undefined
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
        if base and abs(exponent) * abs(mpmath.mag(base)) > _LARGEST_EXPONENT:
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

    def _fn(self, tree: Ast) -> Any:
        rule = _FUNCTIONS.get(tree[1])
        if rule is None:
            raise Undefined
        arguments = self._parts(tree)
        try:
            return rule(*arguments)
        except TypeError as error:  # the number of arguments, or an order of complex numbers
            raise Undefined from error


def _ratio(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def _root(value: Any, index: Any) -> Any:
    whole = int(mpmath.nint(mpmath.re(index)))
    if index != whole or not 1 <= whole <= 10_000:
        raise Undefined
    if whole % 2 and mpmath.im(value) == 0 > mpmath.re(value):
        return -mpmath.root(-value, whole)
    return mpmath.root(value, whole)


def _bounded(function: Callable[[Any], Any], largest: int) -> Callable[[Any], Any]:
    def guarded(value: Any) -> Any:
        if abs(value) > largest:
            raise Undefined
        return function(value)

    return guarded


def _binomial(above: Any, below: Any) -> Any:
    if abs(above) > _LARGEST_EXPONENT or abs(below) > _LARGEST_EXPONENT:
        raise Undefined
    return mpmath.binomial(above, below)


def _log(value: Any, base: Any = None) -> Any:
    # Without a base, "log" is left as one: it may be the natural or the common logarithm.
    return mpmath.log(value) if base is None else mpmath.log(value) / mpmath.log(base)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(mpmath, name)
        for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "sqrt")
    },
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arccot": mpmath.acot,
    "ln": mpmath.log,
    "log": _log,
    "lg": mpmath.log10,
    "exp": _bounded(mpmath.exp, _LARGEST_EXPONENT),
    "root": _root,
    "abs": abs,
    "floor": mpmath.floor,
    "ceil": mpmath.ceil,
    "factorial": _bounded(mpmath.factorial, _LARGEST_EXPONENT),
    "binom": _binomial,
    "max": max,
    "min": min,
}

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
    "fn": _Walk._fn,
}
