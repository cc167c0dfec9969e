"""What an answer can be. Plain data: reading is ``structure``, comparing is ``compare``."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from cascade_rl_math.exact import Decimal, exact, written_decimal
from cascade_rl_math.tree import Ast
from cascade_rl_math.units import Unit


@dataclass(frozen=True)
class Scalar:
    """One expression: its tree, its exact value where it has one, and its unit if named.

    A trailing percent or degree sign is taken off the tree and kept as ``sign``; ``value``
    is that of the tree without it.
    """

    tree: Ast
    value: Fraction | None
    sign: Literal["", "percent", "degree"] = ""
    unit: Unit | None = None
    quantity: Scalar | None = None  #: the same as a number with a unit, where 5 m may be one

    @property
    def decimal(self) -> Decimal | None:
        """How the number was written, where it is one decimal number."""
        return written_decimal(self.tree)


def scalar(tree: Ast, unit: Unit | None = None) -> Scalar:
    """A scalar of a tree. Raises ``TooExpensive`` and ``Unreadable``."""
    if tree[0] in ("percent", "degree"):
        return Scalar(tree[1], exact(tree[1]), tree[0], unit)
    if tree[0] == "neg" and tree[1][0] in ("percent", "degree"):
        inner = ("neg", tree[1][1])
        return Scalar(inner, exact(inner), tree[1][0], unit)
    return Scalar(tree, exact(tree), "", unit)


@dataclass(frozen=True)
class Words:
    """An answer in words: letters and digits only, lower case."""

    text: str


@dataclass(frozen=True)
class Group:
    """Several values: a bare ``list`` or a ``set`` has no order, a ``tuple`` has one."""

    kind: Literal["list", "set", "tuple"]
    items: tuple[Node, ...]
    alternatives: bool = False  #: a list joined by "or"
    together: bool = False  #: a list joined by "and"


@dataclass(frozen=True)
class Interval:
    """From ``low`` to ``high``; an infinite end is never closed."""

    low: Scalar
    high: Scalar
    closed: tuple[bool, bool]


def interval(low: Scalar, high: Scalar, closed: tuple[bool, bool]) -> Interval:
    """An interval; an infinite end counts as open however it was written."""
    return Interval(
        low, high, (closed[0] and not is_infinite(low), closed[1] and not is_infinite(high))
    )


def is_infinite(node: Scalar) -> bool:
    """Whether a scalar is plus or minus infinity."""
    return node.tree in (("const", "oo"), ("neg", ("const", "oo")))


@dataclass(frozen=True)
class Union:
    """Intervals and sets joined by a cup sign."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Matrix:
    """Rows of entries; a column vector has one entry a row."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True)
class Labelled:
    """``x = 3``, ``f(x) = x + 1``, ``x in [0, 1)``: a value with the name it was given.

    ``arguments`` are the variables of a function label. ``equation`` is the same statement
    as left side minus right side, where that makes sense.
    """

    label: str
    value: Node
    arguments: tuple[str, ...] = ()
    equation: Ast | None = None


@dataclass(frozen=True)
class Equation:
    """An equation that names no value: left side minus right side, equal to zero."""

    difference: Ast


@dataclass(frozen=True)
class Inequality:
    """Sides joined by <, ≤ (turned to rise from left to right) or ≠."""

    operators: tuple[str, ...]
    sides: tuple[Scalar, ...]


@dataclass(frozen=True)
class Ratio:
    """``1:2:3``: three numbers or more, up to a common factor."""

    parts: tuple[Scalar, ...]


@dataclass(frozen=True)
class Residue:
    """``3 (mod 7)``."""

    value: Scalar
    modulus: Scalar


@dataclass(frozen=True)
class Piecewise:
    """Values, each with the condition under which it holds; in any order."""

    cases: tuple[Group, ...]


@dataclass(frozen=True)
class Clock:
    """``12:05``: a time of day or a ratio, nobody knows which. ``half`` is "am", "pm" or ""."""

    hours: int
    minutes: int
    half: str = ""


#: The set without members, and every way to say that nothing fits.
NOTHING = Group("set", ())

Node = (
    Scalar
    | Words
    | Group
    | Interval
    | Union
    | Matrix
    | Labelled
    | Equation
    | Inequality
    | Ratio
    | Residue
    | Piecewise
    | Clock
)
