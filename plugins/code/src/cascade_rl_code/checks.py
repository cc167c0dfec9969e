"""What an assert demands of one value, as data that is checked outside of any sandbox."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cascade_rl_code.literals import is_literal, literal
from cascade_rl_code.plain import equal_python
from cascade_rl_code.scope import NotCollectable, Scope


@dataclass(frozen=True)
class Check:
    """``demand`` is a key of ``DEMANDS``; ``bound`` is for the demand "within"."""

    demand: str
    expected: Any = None
    bound: float = 0.0

    def holds(self, value: Any) -> bool:
        """Whether a plain value meets the demand; never raises."""
        try:
            return DEMANDS[self.demand](value, self)
        except (TypeError, ArithmeticError, ValueError, RecursionError):
            return False


def expectation(test: ast.expr, scope: Scope) -> tuple[ast.expr, Check]:
    """The value that an assert is about, and what it demands. Raises ``NotCollectable``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _owned(test.operand, Check("false"), scope)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _comparison(test.left, test.ops[0], test.comparators[0], scope)
    if is_literal(test):
        raise NotCollectable("a constant")
    return _owned(test, Check("true"), scope)


def _comparison(
    left: ast.expr, op: ast.cmpop, right: ast.expr, scope: Scope
) -> tuple[ast.expr, Check]:
    demand = _COMPARISONS.get(type(op))
    if is_literal(left) and not is_literal(right):
        left, right = right, left
        demand = _FLIPPED.get(demand or "")
    if demand is None or not is_literal(right):
        raise NotCollectable("no comparison with a constant")
    expected = literal(right)
    if demand in ("<", "<=") and isinstance(left, ast.Call) and isinstance(expected, float):
        bound = expected if demand == "<" else math.nextafter(expected, math.inf)
        difference = _difference(left, bound)
        if difference is not None:
            return _owned(*difference, scope)
    return _owned(left, Check(demand, expected), scope)


def _difference(node: ast.Call, bound: float) -> tuple[ast.expr, Check] | None:
    """``abs(value - constant) < bound``."""
    name, args = ast.unparse(node.func), node.args
    if name not in ("abs", "math.fabs") or len(args) != 1 or not isinstance(args[0], ast.BinOp):
        return None
    left, right = args[0].left, args[0].right
    if is_literal(left):
        left, right = right, left
    if not isinstance(args[0].op, ast.Sub) or not is_literal(right):
        return None
    return left, Check("within", literal(right), bound)


def _owned(value: ast.expr, check: Check, scope: Scope) -> tuple[ast.expr, Check]:
    # A yes or no that is computed beside the answer would be the answer's to give.
    wrapped = check.demand not in ("true", "false") and not (
        check.expected is None or isinstance(check.expected, bool)
    )
    wrappers = scope.wrappers(exact=check.demand == "==") if wrapped else None
    if not scope.is_answers(value, wrappers):
        raise NotCollectable("not only a value of the answer's")
    return value, check


def _number(value: Any) -> Any:
    if isinstance(value, int | float | str | list | tuple):
        return value
    raise TypeError(type(value).__name__)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Check], bool]:
    return lambda value, check: bool(compare(_number(value), check.expected))


DEMANDS: dict[str, Callable[[Any, Check], bool]] = {
    "true": lambda value, _: bool(value),
    "false": lambda value, _: not value,
    "==": lambda value, check: equal_python(value, check.expected),
    "!=": lambda value, check: not equal_python(value, check.expected),
    # `is` with a constant means a singleton: None, True, False
    "is": lambda value, check: type(value) is type(check.expected) and value == check.expected,
    "is not": lambda value, check: (
        not (type(value) is type(check.expected) and value == check.expected)
    ),
    "in": lambda value, check: value in check.expected,
    "not in": lambda value, check: value not in check.expected,
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "within": lambda value, check: abs(value - check.expected) < check.bound,
}

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FLIPPED = {"==": "==", "!=": "!=", "is": "is", "is not": "is not",
            "<": ">", "<=": ">=", ">": "<", ">=": "<="}  # fmt: skip
