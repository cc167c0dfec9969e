"""Trees to fractions: rational arithmetic in Python integers, bounded before each step.

No floats, no rounding. Whatever is not rational gives None and is left to other layers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from cascade_rl_math.limits import MAX_FACTORIAL, MAX_VALUE_DIGITS, TooExpensive, Unreadable
from cascade_rl_math.tree import Ast, holds, put, size, symbols
from cascade_rl_math.tree import parts as operands

_BITS_PER_DIGIT = math.log2(10)
_MAX_BITS = int(MAX_VALUE_DIGITS * _BITS_PER_DIGIT)
_MAX_ROOT_BITS = 2_000
#: Nodes that may be evaluated for one sum or product.
_MOST_STEPS = 5_000

Value = Fraction | None


class Decimal(NamedTuple):
    """A number written with a decimal point: its value and how far its digits reach."""

    value: Fraction
    places: int
    significant: int

    @property
    def half_unit(self) -> Fraction:
        """Half a unit in the last written place."""
        return Fraction(1, 2 * 10**self.places)


def exact(tree: Ast) -> Value:
    """The rational value of a tree, or None where it has none or it is not a fraction.

    Every part is evaluated even where the whole is not rational, so that a part that is too
    large is found here. Raises ``TooExpensive``, and ``Unreadable`` for a division by zero.
    """
    return _RULES[tree[0]](tree)


def written_decimal(tree: Ast) -> Decimal | None:
    """How a tree that is one signed decimal was written, or None for any other tree."""
    if tree[0] == "neg":
        inner = written_decimal(tree[1])
        return inner and inner._replace(value=-inner.value)
    if tree[0] != "num" or "." not in tree[1] or "e" in tree[1] or "(" in tree[1]:
        return None
    whole, _, part = tree[1].partition(".")
    significant = len((whole + part).lstrip("0"))
    return Decimal(Fraction(tree[1]), len(part), significant)


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _check(bits: float) -> None:
    if bits > _MAX_BITS:
        raise TooExpensive(f"a number of more than {MAX_VALUE_DIGITS} digits")


def _num(tree: Ast) -> Value:
    if tree[1].isdigit():
        return Fraction(int(tree[1]))
    if "(" in tree[1]:
        return _repeating(tree[1])
    _, _, exponent = tree[1].partition("e")
    if exponent:
        if len(exponent) > 6:
            raise TooExpensive(f"an exponent of {len(exponent)} digits")
        _check(abs(int(exponent)) * _BITS_PER_DIGIT)
    return Fraction(tree[1])


def _repeating(written: str) -> Fraction:
    """0.1(6) is 1/6: the period over as many nines as it has digits."""
    head, _, period = written.rstrip(")").partition("(")
    places = len(head.partition(".")[2])
    fraction = Fraction(int(period), 10 ** len(period) - 1)
    return Fraction(head.rstrip(".") or "0") + fraction / Fraction(10) ** places


def _parts(tree: Ast) -> list[Value]:
    return [exact(part) for part in operands(tree)]


def _add(tree: Ast) -> Value:
    total = Fraction(0)
    parts = _parts(tree)
    for part in parts:
        if part is None:
            return None
        _check(_bits(total) + _bits(part))
        total += part
    return total


def _mul(tree: Ast) -> Value:
    total = Fraction(1)
    for part in _parts(tree):
        if part is None:
            return None
        _check(_bits(total) + _bits(part))
        total *= part
    return total


def _neg(tree: Ast) -> Value:
    value = exact(tree[1])
    return None if value is None else -value


def _div(tree: Ast) -> Value:
    above, below = exact(tree[1]), exact(tree[2])
    if below == 0:
        raise Unreadable("a division by zero")
    if above is None or below is None:
        return None
    _check(_bits(above) + _bits(below))
    return above / below


def _pow(tree: Ast) -> Value:
    base, exponent = exact(tree[1]), exact(tree[2])
    if base is None or exponent is None:
        return None
    if exponent.denominator != 1:
        return _rational_power(base, exponent)
    if base == 0 and exponent <= 0:
        raise Unreadable("zero to a power that is not positive")
    power = exponent.numerator
    if base not in (0, 1, -1):
        _check(_bits(base) * abs(power))
    return base ** (power if abs(base) != 1 else power % 2)


def _rational_power(base: Fraction, exponent: Fraction) -> Value:
    root = _root_of(base, exponent.denominator)
    if root is None or (root == 0 and exponent < 0):
        return None
    _check(_bits(root) * abs(exponent.numerator))
    return root**exponent.numerator


def _root_of(value: Fraction, degree: int) -> Value:
    """The exact real root, or None where it is irrational, not real, or dear to find."""
    if degree > 64 or _bits(value) > _MAX_ROOT_BITS or (value < 0 and degree % 2 == 0):
        return None
    above = _integer_root(abs(value.numerator), degree)
    below = _integer_root(value.denominator, degree)
    if above is None or below is None:
        return None
    return Fraction(above if value >= 0 else -above, below)


def _integer_root(value: int, degree: int) -> int | None:
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < value:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == value else None


def _percent(tree: Ast) -> Value:
    value = exact(tree[1])
    return None if value is None else value / 100


def _base(tree: Ast) -> Value:
    _, digits, base = tree
    radix = int(base[:3])
    if not 2 <= radix <= 36 or len(base) > 2:
        raise Unreadable(f"a number in base {base[:10]}")
    if any(int(digit, 36) >= radix for digit in digits):
        raise Unreadable(f"the digits of {digits[:20]} do not exist in base {radix}")
    return None  # equals only its own spelling: the base is part of what was asked


def _mixed(tree: Ast) -> Value:
    _, whole, over, under = tree
    return int(whole) + Fraction(int(over), int(under))


def _bound(tree: Ast) -> Value:
    """A sum or product between whole numbers, written out; no other bound expression."""
    _, kind, low, high, body = tree
    first, last = exact(low), exact(high)
    if kind not in ("sum", "prod") or first is None or last is None:
        return None
    count = last - first + 1
    if (
        first.denominator != 1
        or last.denominator != 1
        or not 0 <= count * size(body) <= _MOST_STEPS
    ):
        return None
    if holds(body, lambda part: part[0] == "bound"):
        return None
    names = [name for name in symbols(body) if name.startswith("bound ")] or [""]
    terms = [put(body, ("sym", names[0]), ("num", str(first + step))) for step in range(int(count))]
    empty: Ast = ("num", "0" if kind == "sum" else "1")
    return exact(("add" if kind == "sum" else "mul", empty, *terms))


def _opaque(tree: Ast) -> Value:
    _parts(tree)
    return None


def _fn(tree: Ast) -> Value:
    rule = _FUNCTIONS.get(tree[1])
    values = _parts(tree)
    known = [value for value in values if value is not None]
    if rule is None or len(known) != len(values):
        return None
    try:
        return rule(*known)
    except TypeError as error:  # the number of arguments
        raise Unreadable(f"{tree[1]} with {len(known)} arguments") from error


def _factorial(value: Fraction) -> Value:
    if value.denominator != 1 or value < 0:
        return None
    if value > MAX_FACTORIAL:
        raise TooExpensive(f"a factorial beyond {MAX_FACTORIAL}!")
    return Fraction(math.factorial(value.numerator))


def _binom(above: Fraction, below: Fraction) -> Value:
    if above.denominator != 1 or below.denominator != 1 or below < 0 or above < 0:
        return None
    if above > MAX_FACTORIAL:
        raise TooExpensive(f"a binomial coefficient beyond {MAX_FACTORIAL}")
    return Fraction(math.comb(above.numerator, below.numerator))


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "sqrt": lambda value: _root_of(value, 2),
    "root": lambda value, index: (
        _root_of(value, index.numerator) if index.denominator == 1 and index > 0 else None
    ),
    "factorial": _factorial,
    "binom": _binom,
    "abs": abs,
    "floor": lambda value: Fraction(math.floor(value)),
    "ceil": lambda value: Fraction(math.ceil(value)),
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
}

_RULES: dict[str, Callable[[Ast], Value]] = {
    "num": _num,
    "sym": _opaque,
    "const": _opaque,
    "add": _add,
    "mul": _mul,
    "neg": _neg,
    "div": _div,
    "pow": _pow,
    "percent": _percent,
    "degree": _opaque,
    "base": _base,
    "mixed": _mixed,
    "fn": _fn,
    "apply": _opaque,
    "bound": _bound,
}
