"""Functions of mpmath numbers, by the names that trees have for them; bounded where they grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath

#: Beyond these the result is not computed: e**1e6 has 434,000 digits before the point.
LARGEST_EXPONENT = 10**6


class Undefined(Exception):
    """The expression has no value here, or none that can be computed."""


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
    if abs(above) > LARGEST_EXPONENT or abs(below) > LARGEST_EXPONENT:
        raise Undefined
    return mpmath.binomial(above, below)


def _log(value: Any, base: Any = None) -> Any:
    # Without a base, "log" is left as one: it may be the natural or the common logarithm.
    return mpmath.log(value) if base is None else mpmath.log(value) / mpmath.log(base)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(mpmath, name)
        for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "sqrt")
    },
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arccot": mpmath.acot,
    "arcsec": mpmath.asec,
    "arccsc": mpmath.acsc,
    "ln": mpmath.log,
    "log": _log,
    "lg": mpmath.log10,
    "exp": _bounded(mpmath.exp, LARGEST_EXPONENT),
    "root": _root,
    "abs": abs,
    "floor": mpmath.floor,
    "ceil": mpmath.ceil,
    "factorial": _bounded(mpmath.factorial, LARGEST_EXPONENT),
    "binom": _binomial,
    "Re": mpmath.re,
    "Im": mpmath.im,
    "arg": mpmath.arg,
    "sgn": mpmath.sign,
    "max": max,
    "min": min,
}
