"""Expression trees: nested tuples, the operator first. What they hold, and how to walk them.

    ("num", "2.50" | "0.1(6)")  ("sym", "x_1")  ("const", "pi" | "e" | "i" | "oo")
    ("add" | "mul", a, b, ...)  ("neg", a)  ("div", a, b)  ("pow", a, b)
    ("percent", a)  ("degree", a)  ("base", "43", "7")  ("mixed", whole, over, under)
    ("fn", name, a, ...)  ("apply", name, a, ...)
    ("bound", "sum" | "prod" | "int" | "lim", variable, low, high, body)

Sums and products are flat, so that the depth of a tree is the depth of the brackets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Ast = tuple[Any, ...]

ZERO: Ast = ("num", "0")


def parts(tree: Ast) -> list[Ast]:
    """The operands that are trees themselves."""
    return [part for part in tree[1:] if isinstance(part, tuple)]


def symbols(tree: Ast) -> frozenset[str]:
    """The names of the variables in a tree (a bound variable is none)."""
    if tree[0] == "sym":
        return frozenset((tree[1],))
    return frozenset().union(*map(symbols, parts(tree)))


def holds(tree: Ast, wanted: Callable[[Ast], bool]) -> bool:
    """Whether a tree or any part of it is wanted."""
    return wanted(tree) or any(holds(part, wanted) for part in parts(tree))


def rename(tree: Ast, names: dict[str, str]) -> Ast:
    """The tree with its variables renamed."""
    if tree[0] == "sym":
        return ("sym", names.get(tree[1], tree[1]))
    return tuple(rename(part, names) if isinstance(part, tuple) else part for part in tree)


def put(tree: Ast, old: Ast, new: Ast) -> Ast:
    """The tree with another in the place of one of its parts."""
    if tree == old:
        return new
    return tuple(put(part, old, new) if isinstance(part, tuple) else part for part in tree)


def flat(operator: str, operands: list[Ast]) -> Ast:
    """A sum or product of several operands, or the one operand itself."""
    return operands[0] if len(operands) == 1 else (operator, *operands)


def minus(left: Ast, right: Ast) -> Ast:
    """The difference of two trees."""
    return ("add", left, ("neg", right))


def size(tree: Ast) -> int:
    """The number of nodes."""
    return 1 + sum(map(size, parts(tree)))
