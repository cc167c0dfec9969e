"""Polynomials as dictionaries: sums and products of terms, within a bound on the work.

A monomial is a set of atoms with their powers. Powers of primes stay between 0 and 1, and i²
is -1: what is left over becomes a factor of the coefficient.
"""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import NamedTuple

from cascade_rl_math.limits import POLYNOMIAL_WORK

Atom = tuple[object, ...]
Number = int | Fraction
#: Atoms with their powers; powers of primes are fractions between 0 and 1.
Monomial = frozenset[tuple[Atom, Number]]
Polynomial = dict[Monomial, Number]

ONE: Monomial = frozenset()
UNIT: Polynomial = {ONE: 1}
IMAGINARY: Atom = ("const", "i")
MOST_BITS = 1_000
_MOST_TERMS = 1_000


class TooLarge(Exception):
    """The normal form would take more work than it is worth: other layers decide."""


class Quotient(NamedTuple):
    """One polynomial over another, which is never the empty one."""

    above: Polynomial
    below: Polynomial


class _Work(threading.local):
    left = POLYNOMIAL_WORK


_work = _Work()


def allow_work() -> None:
    """Start a new verdict: so many products of terms may be formed for it, and no more."""
    _work.left = POLYNOMIAL_WORK


def check_size(value: Number) -> None:
    """Raise ``TooLarge`` for a coefficient of too many digits."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        raise TooLarge


def spend(products: int) -> None:
    """Take so many products from what this verdict may use. Raises ``TooLarge``."""
    _work.left -= products
    if _work.left < 0:
        raise TooLarge


def add(*forms: Polynomial) -> Polynomial:
    """The sum of any number of polynomials. Raises ``TooLarge``."""
    spend(sum(map(len, forms)))
    total = dict(forms[0]) if forms else {}
    for form in forms[1:]:
        for monomial, coefficient in form.items():
            summed = total.get(monomial, 0) + coefficient
            if summed:
                total[monomial] = summed
            else:
                del total[monomial]
    if len(total) > _MOST_TERMS:
        raise TooLarge
    return total


def scaled(form: Polynomial, factor: int) -> Polynomial:
    """A multiple by a number that is not zero."""
    return {monomial: coefficient * factor for monomial, coefficient in form.items()}


def times(left: Polynomial, right: Polynomial) -> Polynomial:
    """The product. Raises ``TooLarge``."""
    if right is UNIT:
        return left
    if left is UNIT:
        return right
    spend(len(left) * len(right))
    total: Polynomial = {}
    for ours, mine in left.items():
        for theirs, other in right.items():
            monomial, factor = _joined(ours, theirs)
            summed = total.get(monomial, 0) + mine * other * factor
            check_size(summed)
            total[monomial] = summed
    total = {monomial: value for monomial, value in total.items() if value}
    if len(total) > _MOST_TERMS:
        raise TooLarge
    return total


def _joined(left: Monomial, right: Monomial) -> tuple[Monomial, Number]:
    """The product of two monomials; whole powers of primes and of i² become a factor."""
    if not left or not right:
        return left or right, 1
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return reduced(powers)


def reduced(powers: dict[Atom, Number]) -> tuple[Monomial, Number]:
    """Atoms with any powers as a monomial and the factor that its rules leave over."""
    factor: Number = 1
    for atom, power in list(powers.items()):
        if atom[0] == "prime":
            whole = power.__floor__()
            if abs(whole) > MOST_BITS:
                raise TooLarge
            if whole:
                factor *= Fraction(int(str(atom[1]))) ** whole
                powers[atom] = power - whole
        elif atom == IMAGINARY and isinstance(power, int):
            factor *= -1 if power // 2 % 2 else 1
            powers[atom] = power % 2
    return frozenset(item for item in powers.items() if item[1]), factor
