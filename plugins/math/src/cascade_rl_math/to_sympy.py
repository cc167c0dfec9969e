"""Trees to sympy expressions, node by node: no text is ever handed to sympy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy

from cascade_rl_math.exact import exact
from cascade_rl_math.limits import Unreadable
from cascade_rl_math.tree import Ast


def to_sympy(tree: Ast) -> Any:
    """A tree as a sympy expression. Raises ``Unreadable`` for what has no counterpart."""
    build = _BUILDERS.get(tree[0])
    if build is None:
        raise Unreadable(f"no symbolic form of {tree[0]}")
    return build(tree)


def _builder(make: Callable[..., Any]) -> Callable[[Ast], Any]:
    return lambda tree: make(*(to_sympy(part) for part in tree[1:]))


def _number(tree: Ast) -> Any:
    value = exact(tree) or Fraction(0)
    return sympy.Rational(value.numerator, value.denominator)


def _function(tree: Ast) -> Any:
    make = _FUNCTIONS.get(tree[1])
    if make is None:
        raise Unreadable(f"no symbolic form of {tree[1]}")
    return make(*(to_sympy(part) for part in tree[2:]))


_CONSTANTS = {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "oo": sympy.oo}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(sympy, name)
        for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "sqrt")
    },
    "root": sympy.real_root,
    "arcsin": sympy.asin,
    "arccos": sympy.acos,
    "arctan": sympy.atan,
    "arccot": sympy.acot,
    "ln": sympy.log,
    "log": sympy.log,
    "exp": sympy.exp,
    "abs": sympy.Abs,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "factorial": sympy.factorial,
    "binom": sympy.binomial,
    "gcd": sympy.Function("gcd"),
    "lcm": sympy.Function("lcm"),
    "max": sympy.Max,
    "min": sympy.Min,
}
_BUILDERS: dict[str, Callable[[Ast], Any]] = {
    "num": _number,
    "mixed": _number,
    "sym": lambda tree: sympy.Symbol(tree[1]),
    "const": lambda tree: _CONSTANTS[tree[1]],
    "add": _builder(sympy.Add),
    "mul": _builder(sympy.Mul),
    "neg": _builder(lambda value: -value),
    "div": _builder(lambda above, below: above / below),
    "pow": _builder(sympy.Pow),
    "percent": _builder(lambda value: value / 100),
    "degree": _builder(lambda value: value * sympy.pi / 180),
    "apply": lambda tree: sympy.Function(tree[1])(*(to_sympy(part) for part in tree[2:])),
    "fn": _function,
}
