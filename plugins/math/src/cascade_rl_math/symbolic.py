"""The killable child: numeric and symbolic layers, one comparison a call.

The only module that imports sympy, and only where the numbers cannot tell. The parent
(``child``) starts it by name and kills it at the deadline, so nothing here needs to be quick
on hostile input; it only must not be wrong.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from cascade_rl.workers import Channel, serve_calls
from cascade_rl_math import numeric
from cascade_rl_math.layers import Layers, cheap, matches_rounded, signed
from cascade_rl_math.limits import MAX_CHILD_MEMORY
from cascade_rl_math.nodes import Scalar
from cascade_rl_math.rules import Rules
from cascade_rl_math.tree import ZERO, Ast, holds, put, size, symbols
from cascade_rl_math.verify import compare_texts

#: Beyond these sympy simplifies for minutes.
_MOST_NODES = 100
_MOST_TERMS = 200
_LARGEST_POWER = 50


def serve(channel: Channel, _init: Any) -> None:
    """Answer comparisons until the parent hangs up; the body of the child."""
    _limit_memory()

    def answer(payload: list[Any]) -> dict[str, Any]:
        gold, completion, rules = payload
        verdict = compare_texts(gold, completion, dear(Rules(*rules)))
        return {"equal": verdict.equal, "layer": verdict.layer}

    serve_calls(channel, answer)


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY or hard > MAX_CHILD_MEMORY:
            resource.setrlimit(resource.RLIMIT_AS, (MAX_CHILD_MEMORY, hard))


def _refuted(gold: Scalar, answer: Scalar) -> bool | None:
    return None if numeric.agree(*signed(gold, answer)) is not False else False


def _confirmed(gold: Scalar, answer: Scalar) -> bool | None:
    return numeric.agree(*signed(gold, answer)) or None


def _simplifies_to_zero(gold: Scalar, answer: Scalar) -> bool | None:
    left, right = signed(gold, answer)
    if not all(symbols(tree) and _is_simple(tree) for tree in (left, right)):
        return None
    import sympy

    from cascade_rl_math.to_sympy import to_sympy

    return bool(sympy.simplify(to_sympy(left) - to_sympy(right)) == 0) or None


def _rounds(rules: Rules) -> Callable[[Scalar, Scalar], bool | None]:
    """A written decimal against an exact value that is no fraction."""

    def rounds(gold: Scalar, answer: Scalar) -> bool | None:
        decimal = gold.decimal or answer.decimal or rules.precision is not None
        if not decimal or gold.sign != answer.sign:
            return None
        left, right = (
            side.value if side.value is not None else numeric.number(side.tree)
            for side in (gold, answer)
        )
        if left is None or right is None:
            return None
        return True if matches_rounded(gold, answer, left, right, rules) else None

    return rounds


def _solves(difference: Ast, value: Ast) -> bool | None:
    """Whether the equation is linear in a variable and gives it this value."""
    for name in sorted(symbols(difference) - symbols(value)):
        one, two, three = (put(difference, ("sym", name), ("num", digit)) for digit in "123")
        bend = ("add", one, ("neg", ("mul", ("num", "2"), two)), three)
        if not numeric.agree(bend, ZERO) or numeric.agree(one, two) is not False:
            continue
        if numeric.agree(put(difference, ("sym", name), value), ZERO):
            return True
    return False


def _is_simple(tree: Ast) -> bool:
    return size(tree) <= _MOST_NODES and not holds(tree, _too_much)


def _too_much(tree: Ast) -> bool:
    if tree == ("const", "oo") or tree[0] in ("bound", "base"):
        return True
    if tree[0] != "pow" or tree[2][0] != "num":
        return False
    power, names = Fraction(tree[2][1]), len(symbols(tree[1]))
    return power > _LARGEST_POWER or math.comb(int(power) + names, names) > _MOST_TERMS


def _guarded(layer: Callable[..., bool | None]) -> Callable[..., bool | None]:
    def guarded(*sides: Any) -> bool | None:
        try:
            return layer(*sides)
        except Exception:  # sympy raises what it likes; a layer that fails decides nothing
            return None

    return guarded


def dear(rules: Rules) -> Layers:
    """All layers: those of the parent first, so that names and verdicts agree."""
    first = cheap(rules)
    return Layers(
        rules=rules,
        scalars=(
            *first.scalars,
            ("rounded decimal", _guarded(_rounds(rules))),
            ("numeric", _guarded(_refuted)),
            ("numeric", _guarded(_confirmed)),
            ("symbolic, sympy", _guarded(_simplifies_to_zero)),
        ),
        equations=(*first.equations, ("numeric, equation", _guarded(numeric.proportional))),
        bounds=first.bounds,
        solutions=(("numeric, equation", _guarded(_solves)),),
    )
