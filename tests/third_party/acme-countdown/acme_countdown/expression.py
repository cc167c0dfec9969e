"""Reading an arithmetic expression without running it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

LONGEST = 80
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


class Unreadable(ValueError):
    """The text is no sum, difference or product of whole numbers."""


def read(text: str) -> tuple[int, list[int]]:
    """(value, numbers used) of an expression; raises ``Unreadable``."""
    if len(text) > LONGEST:
        raise Unreadable(f"longer than {LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable("no expression") from error
    numbers: list[int] = []
    return _value(tree, numbers), numbers


def _value(node: ast.expr, numbers: list[int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value < 1000:
        numbers.append(node.value)
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, numbers), _value(node.right, numbers)
        return _OPERATORS[type(node.op)](left, right)
    raise Unreadable("only whole numbers, +, -, * and brackets")
