"""Constants to floats: where a number lies, never whether two are equal.

For putting the ends of intervals in order. No variables; None where a float cannot say.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from cascade_rl_math.exact import exact
from cascade_rl_math.limits import TooExpensive, Unreadable
from cascade_rl_math.tree import Ast, parts

_CONSTANTS = {"pi": math.pi, "e": math.e, "oo": math.inf}


def approximate(tree: Ast) -> float | None:
    """The value of a real constant to some ten digits, or None."""
    try:
        value = _value(tree)
    except (ArithmeticError, ValueError, TypeError, KeyError, TooExpensive, Unreadable):
        return None
    return None if math.isnan(value) else value


def _value(tree: Ast) -> float:
    known = exact(tree)
    if known is not None:
        return float(known)
    return _RULES[tree[0]](tree)


def _values(tree: Ast) -> list[float]:
    return [_value(part) for part in parts(tree)]


def _power(tree: Ast) -> float:
    base, exponent = _values(tree)
    return math.pow(base, exponent)


def _division(tree: Ast) -> float:
    above, below = _values(tree)
    return above / below


def _log(value: float, base: float = math.e) -> float:
    return math.log(value) / math.log(base)


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "root": lambda value, index: math.copysign(math.pow(abs(value), 1 / index), value),
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "arcsin": math.asin,
    "arccos": math.acos,
    "arctan": math.atan,
    "ln": math.log,
    "log": _log,
    "lg": math.log10,
    "exp": math.exp,
    "abs": abs,
}
_RULES: dict[str, Callable[[Ast], float]] = {
    "const": lambda tree: _CONSTANTS[tree[1]],
    "add": lambda tree: math.fsum(_values(tree)),
    "mul": lambda tree: math.prod(_values(tree)),
    "neg": lambda tree: -_values(tree)[0],
    "div": _division,
    "pow": _power,
    "percent": lambda tree: _values(tree)[0] / 100,
    "degree": lambda tree: math.radians(_values(tree)[0]),
    "fn": lambda tree: _FUNCTIONS[tree[1]](*_values(tree)),
}
