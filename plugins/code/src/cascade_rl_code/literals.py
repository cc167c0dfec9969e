"""Constants in test code: read from the syntax tree, never evaluated by Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

_MAX_INT_BITS = 4096
_MAX_ITEMS = 10_000

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
_FLOATS = {"inf", "+inf", "-inf", "nan", "infinity", "-infinity"}


class NotLiteral(ValueError):
    """An expression is more than a constant."""


def literal(node: ast.expr) -> Any:
    """The plain value of a constant expression, with arithmetic of small numbers.

    Raises ``NotLiteral``.
    """
    try:
        return _READERS[type(node)](node)
    except KeyError:
        raise NotLiteral(type(node).__name__) from None
    except (TypeError, ArithmeticError, ValueError, RecursionError) as error:
        raise NotLiteral(str(error)) from error


def is_literal(node: ast.expr) -> bool:
    """Whether ``literal`` can read it."""
    try:
        literal(node)
    except NotLiteral:
        return False
    return True


def _items(nodes: list[ast.expr]) -> list[Any]:
    return [literal(node) for node in nodes]


def _dict(node: ast.Dict) -> dict[Any, Any]:
    if None in node.keys:
        raise NotLiteral("**")
    keys = [literal(key) for key in node.keys if key is not None]
    return dict(zip(keys, _items(node.values), strict=True))


def _unary(node: ast.UnaryOp) -> Any:
    if type(node.op) not in _UNARY:
        raise NotLiteral(type(node.op).__name__)
    return _UNARY[type(node.op)](literal(node.operand))


def _binary(node: ast.BinOp) -> Any:
    left, right = literal(node.left), literal(node.right)
    operation = _OPERATORS.get(type(node.op))
    if operation is None or not _small(node.op, left, right):
        raise NotLiteral(type(node.op).__name__)
    return operation(left, right)


def _small(op: ast.operator, left: Any, right: Any) -> bool:
    """Whether the result is small, known before it is computed."""
    numbers = [n for n in (left, right) if isinstance(n, int | float | complex)]
    if len(numbers) == 2:
        if any(isinstance(n, int) and n.bit_length() > _MAX_INT_BITS for n in numbers):
            return False
        if isinstance(op, ast.Pow) and isinstance(left, int):
            return isinstance(right, float) or left.bit_length() * abs(right) <= _MAX_INT_BITS
        return True
    if isinstance(op, ast.Add):
        return not numbers and len(left) + len(right) <= _MAX_ITEMS
    if isinstance(op, ast.Mult) and len(numbers) == 1:
        sequence, count = (right, left) if numbers[0] is left else (left, right)
        return isinstance(count, int) and len(sequence) * count <= _MAX_ITEMS
    return False


def _call(node: ast.Call) -> Any:
    """``set()`` and the like, and ``float("inf")``."""
    if not isinstance(node.func, ast.Name) or node.keywords:
        raise NotLiteral("Call")
    name, args = node.func.id, _items(node.args)
    if name in _EMPTY and not args:
        return _EMPTY[name]()
    if name in ("set", "frozenset", "tuple", "list") and len(args) == 1:
        return _EMPTY[name](args[0])
    if name == "float" and len(args) == 1 and str(args[0]).lower() in _FLOATS:
        return float(args[0])
    raise NotLiteral(name)


_EMPTY: dict[str, Callable[..., Any]] = {
    "set": set, "frozenset": frozenset, "tuple": tuple, "list": list, "dict": dict, "str": str,
}  # fmt: skip

_READERS: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.Constant: lambda node: node.value,
    ast.List: lambda node: _items(node.elts),
    ast.Tuple: lambda node: tuple(_items(node.elts)),
    ast.Set: lambda node: set(_items(node.elts)),
    ast.Dict: _dict,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Call: _call,
}
