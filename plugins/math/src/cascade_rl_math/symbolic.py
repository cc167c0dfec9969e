"""The killable child: symbolic and numeric layers, one comparison a call.

The only module that imports sympy. The parent starts it by name through
``cascade_rl.workers.CallPool`` and kills it at the deadline, so nothing here needs to be
quick on hostile input; it only must not be wrong.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy

from cascade_rl.workers import Channel, serve_calls
from cascade_rl_math import numeric
from cascade_rl_math.layers import CHEAP, Layers, matches_rounded
from cascade_rl_math.limits import MAX_CHILD_MEMORY, Unreadable
from cascade_rl_math.nodes import Scalar
from cascade_rl_math.parse import Ast, symbols

#: Beyond these sympy expands or simplifies for minutes; numbers decide instead.
_MOST_NODES = 300
_MOST_TERMS = 2_000
_LARGEST_POWER = 1_000


def serve(channel: Channel, _init: Any) -> None:
    """Answer comparisons until the parent hangs up; the body of the child."""
    from cascade_rl_math.verify import compare_texts

    _limit_memory()

    def answer(payload: dict[str, str]) -> dict[str, Any]:
        verdict = compare_texts(payload["gold"], payload["answer"], DEAR)
        return {"equal": verdict.equal, "layer": verdict.layer}

    serve_calls(channel, answer)


def to_sympy(tree: Ast) -> Any:
    """A tree as a sympy expression. Raises ``Unreadable`` for what has no counterpart."""
    build = _BUILDERS.get(tree[0])
    if build is None:
        raise Unreadable(f"no symbolic form of {tree[0]}")
    return build(tree)


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY or hard > MAX_CHILD_MEMORY:
            resource.setrlimit(resource.RLIMIT_AS, (MAX_CHILD_MEMORY, hard))


def _refuted(gold: Scalar, answer: Scalar) -> bool | None:
    return None if numeric.agree(*_signed(gold, answer)) is not False else False


def _expands_to_zero(gold: Scalar, answer: Scalar) -> bool | None:
    left, right = _signed(gold, answer)
    if not _expandable(left) or not _expandable(right):
        return None
    return True if sympy.expand(to_sympy(left) - to_sympy(right)) == 0 else None


def _confirmed(gold: Scalar, answer: Scalar) -> bool | None:
    return numeric.agree(*_signed(gold, answer)) or None


def _simplifies_to_zero(gold: Scalar, answer: Scalar) -> bool | None:
    left, right = _signed(gold, answer)
    if not _expandable(left) or not _expandable(right):
        return None
    return bool(sympy.simplify(to_sympy(left) - to_sympy(right)) == 0) or None


def _rounds(gold: Scalar, answer: Scalar) -> bool | None:
    """A written decimal against an exact value that is no fraction."""
    if (gold.decimal is None and answer.decimal is None) or gold.sign != answer.sign:
        return None
    left, right = (
        side.value if side.value is not None else numeric.number(side.tree)
        for side in (gold, answer)
    )
    if left is None or right is None:
        return None
    return True if matches_rounded(gold, answer, left, right) else None


def _signed(gold: Scalar, answer: Scalar) -> tuple[Ast, Ast]:
    """The trees with their percent and degree signs, where the two differ in them."""
    if gold.sign == answer.sign:
        return gold.tree, answer.tree
    left, right = ((side.sign, side.tree) if side.sign else side.tree for side in (gold, answer))
    return left, right


def _solves(difference: Ast, value: Ast) -> bool | None:
    """Whether the equation is linear in a variable and gives it this value."""
    zero: Ast = ("num", "0")
    for name in sorted(symbols(difference) - symbols(value)):
        one, two, three = (_put(difference, name, ("num", digit)) for digit in "123")
        bend = ("add", one, ("neg", ("mul", ("num", "2"), two)), three)
        if not numeric.agree(bend, zero) or numeric.agree(one, two) is not False:
            continue
        if numeric.agree(_put(difference, name, value), zero):
            return True
    return False


def _put(tree: Ast, name: str, value: Ast) -> Ast:
    if tree == ("sym", name):
        return value
    return tuple(_put(part, name, value) if isinstance(part, tuple) else part for part in tree)


def _expandable(tree: Ast) -> bool:
    return _nodes(tree) <= _MOST_NODES and not _large_power(tree) and not _infinite(tree)


def _infinite(tree: Ast) -> bool:
    return tree == ("const", "oo") or any(_infinite(p) for p in tree if isinstance(p, tuple))


def _nodes(tree: Ast) -> int:
    return 1 + sum(_nodes(part) for part in tree[1:] if isinstance(part, tuple))


def _large_power(tree: Ast) -> bool:
    if tree[0] == "pow" and tree[2][0] == "num":
        power, names = Fraction(tree[2][1]), len(symbols(tree[1]))
        if power > _LARGEST_POWER or math.comb(int(power) + names, names) > _MOST_TERMS:
            return True
    return any(_large_power(part) for part in tree[1:] if isinstance(part, tuple))


def _guarded(layer: Callable[..., bool | None]) -> Callable[..., bool | None]:
    def guarded(*sides: Any) -> bool | None:
        try:
            return layer(*sides)
        except Exception:  # sympy raises what it likes; a layer that fails decides nothing
            return None

    return guarded


def _builder(make: Callable[..., Any]) -> Callable[[Ast], Any]:
    return lambda tree: make(*(to_sympy(part) for part in tree[1:]))


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
    "arcsin": sympy.asin,
    "arccos": sympy.acos,
    "arctan": sympy.atan,
    "arccot": sympy.acot,
    "ln": sympy.log,
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
    "num": lambda tree: sympy.Rational(*Fraction(tree[1]).as_integer_ratio()),
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

DEAR = Layers(
    scalars=(
        *CHEAP.scalars,
        ("rounded decimal", _guarded(_rounds)),
        ("numeric", _guarded(_refuted)),
        ("symbolic", _guarded(_expands_to_zero)),
        ("numeric", _guarded(_confirmed)),
        ("symbolic", _guarded(_simplifies_to_zero)),
    ),
    equations=(("numeric, equation", _guarded(numeric.proportional)),),
    solutions=(("numeric, equation", _guarded(_solves)),),
)
