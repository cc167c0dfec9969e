"""Expressions as quotients of polynomials over the rationals: the exact symbolic layer.

The unknowns of a polynomial are *atoms*: variables, pi, e, i, roots of primes, and whatever
has no further structure here (a sine, a power with a variable in it), by the normal form of
its parts. Roots of rationals are products of fractional powers of primes, which are linearly
independent over the rationals (Besicovitch 1940), so a difference of such numbers is zero
only where every coefficient is. Two quotients are equal where the cross products are. No
sympy, no floats; what would take too much work is left to other layers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from cascade_rl_math.exact import exact
from cascade_rl_math.limits import TooExpensive, Unreadable
from cascade_rl_math.primes import factors
from cascade_rl_math.terms import (
    IMAGINARY,
    MOST_BITS,
    ONE,
    UNIT,
    Atom,
    Number,
    Polynomial,
    Quotient,
    TooLarge,
    add,
    allow_work,
    check_size,
    reduced,
    scaled,
    spend,
    times,
)
from cascade_rl_math.tree import Ast

__all__ = ["allow_work", "is_linear", "quotient", "ratio", "same", "same_zeros"]

_LARGEST_POWER = 40
_LARGEST_ROOT = 12
_LARGEST_RADICAND = 10**9
#: What one comparison costs at least, in products.
_COMPARISON = 20


def same(left: Ast, right: Ast) -> bool | None:
    """Whether two expressions are equal; None where this form cannot tell.

    Equal normal forms are equal expressions. Different ones are different expressions only
    where all their atoms are independent of each other.
    """
    try:
        spend(_COMPARISON)
        ours, theirs = quotient(left), quotient(right)
        if ours == theirs:
            return True
        crossed = times(theirs.above, ours.below)
        difference = add(times(ours.above, theirs.below), scaled(crossed, -1))
    except TooLarge:
        return None
    if not difference:
        return True
    return False if _independent((*ours, *theirs)) else None


def ratio(left: Ast, right: Ast) -> Number | None:
    """The rational number by which one expression is a multiple of the other, if there is one."""
    try:
        ours, theirs = quotient(left), quotient(right)
        above, below = times(ours.above, theirs.below), times(theirs.above, ours.below)
    except TooLarge:
        return None
    if not above or above.keys() != below.keys():
        return None
    ratios = {Fraction(above[monomial]) / below[monomial] for monomial in above}
    return ratios.pop() if len(ratios) == 1 else None


def same_zeros(left: Ast, right: Ast) -> bool | None:
    """Whether two expressions vanish together: one numerator is a multiple of the other."""
    try:
        ours, theirs = quotient(left), quotient(right)
    except TooLarge:
        return None
    if not ours.above or not theirs.above:
        return ours.above == theirs.above
    if ours.above.keys() == theirs.above.keys():
        ratios = {Fraction(ours.above[each]) / theirs.above[each] for each in ours.above}
        if len(ratios) == 1:
            return True
    return (
        False if _independent((ours.above, theirs.above)) and ours.below == theirs.below else None
    )


def is_linear(tree: Ast, names: tuple[str, ...]) -> frozenset[str] | None:
    """Which of the named variables a tree is a linear form of, without a constant term.

    None where it is no such form.
    """
    try:
        form = quotient(tree)
    except TooLarge:
        return None
    if list(form.below) != [ONE] or not form.above:
        return None
    found = set()
    for monomial in form.above:
        mine = [(atom[1], power) for atom, power in monomial if atom[-1] in names]
        if len(mine) != 1 or mine[0][1] != 1:
            return None
        found.add(str(mine[0][0]))
    return frozenset(found)


@lru_cache(maxsize=64)
def quotient(tree: Ast) -> Quotient:
    """The normal form of a tree. Raises ``TooLarge``."""
    rule = _RULES.get(tree[0])
    return rule(tree) if rule else _atom(_keyed(tree))


def _independent(forms: tuple[Polynomial, ...]) -> bool:
    atoms = {atom for form in forms for monomial in form for atom, _ in monomial}
    transcendental = [atom for atom in atoms if atom[0] == "const" and atom != IMAGINARY]
    return len(transcendental) <= 1 and all(atom[0] in ("sym", "const", "prime") for atom in atoms)


def _number(value: Number) -> Quotient:
    plain = value.numerator if value.denominator == 1 else value
    check_size(plain)
    return Quotient({ONE: plain} if plain else {}, UNIT)


def _atom(atom: Atom) -> Quotient:
    return Quotient({frozenset(((atom, 1),)): 1}, UNIT)


def _keyed(tree: Ast) -> Atom:
    """A part without further structure, named by the normal forms of its parts."""
    return tuple(_frozen(quotient(part)) if isinstance(part, tuple) else part for part in tree)


def _frozen(form: Quotient) -> tuple[object, ...]:
    # One quotient has many spellings; dividing by a leading coefficient removes most.
    leading: Number = 1
    if form.below is not UNIT:
        leading = min(form.below.items(), key=lambda item: sorted(map(repr, item[0])))[1]
    return tuple(
        frozenset((monomial, Fraction(value) / leading) for monomial, value in side.items())
        for side in form
    )


def _sum(tree: Ast) -> Quotient:
    """The terms over the same denominator first, all at once; then one by one."""
    forms = [quotient(part) for part in tree[1:]]
    plain = [form.above for form in forms if form.below == UNIT]
    total = Quotient(add(*plain), UNIT)
    for form in forms:
        if form.below == UNIT:
            continue
        if form.below == total.below:
            total = Quotient(add(total.above, form.above), total.below)
        else:
            above = add(times(total.above, form.below), times(form.above, total.below))
            total = Quotient(above, times(total.below, form.below))
    return total


def _product(tree: Ast) -> Quotient:
    total = Quotient(UNIT, UNIT)
    for part in tree[1:]:
        total = _multiplied(total, quotient(part))
    return total


def _multiplied(left: Quotient, right: Quotient) -> Quotient:
    return Quotient(times(left.above, right.above), times(left.below, right.below))


def _inverted(form: Quotient) -> Quotient:
    if not form.above:
        raise TooLarge  # a division by zero: not for this layer to judge
    if len(form.above) > 1:
        return Quotient(form.below, form.above)
    monomial, coefficient = next(iter(form.above.items()))
    turned, factor = reduced({atom: -power for atom, power in monomial})
    single: Polynomial = {turned: Fraction(factor) / coefficient}
    return Quotient(times(single, form.below), UNIT)


def _negative(tree: Ast) -> Quotient:
    form = quotient(tree[1])
    return Quotient(scaled(form.above, -1), form.below)


def _division(tree: Ast) -> Quotient:
    return _multiplied(quotient(tree[1]), _inverted(quotient(tree[2])))


def _power(tree: Ast) -> Quotient:
    base, exponent = tree[1], _value(tree[2])
    if exponent is None:
        return _symbolic_power(base, tree[2])
    if exponent.denominator == 1:
        return _whole_power(quotient(base), exponent.numerator)
    return _root(base, exponent) or _atom(("pow", _frozen(quotient(base)), exponent))


def _whole_power(form: Quotient, exponent: int) -> Quotient:
    if exponent < 0:
        form, exponent = _inverted(form), -exponent
    if len(form.above) == 1 == len(form.below):
        return Quotient(*(_single_power(side, exponent) for side in form))
    if exponent > _LARGEST_POWER:
        raise TooLarge
    total = Quotient(UNIT, UNIT)
    for _ in range(exponent):
        total = _multiplied(total, form)
    return total


def _single_power(side: Polynomial, exponent: int) -> Polynomial:
    monomial, coefficient = next(iter(side.items()))
    bits = max(coefficient.numerator.bit_length(), coefficient.denominator.bit_length())
    if abs(coefficient) != 1 and exponent * bits > MOST_BITS:
        raise TooLarge
    raised, factor = reduced({atom: power * exponent for atom, power in monomial})
    return {raised: factor * coefficient**exponent}


def _symbolic_power(base: Ast, exponent: Ast) -> Quotient:
    """b^(n+2) is b² times the atom b^n."""
    form = quotient(exponent)
    whole = Fraction(form.above.get(ONE, 0)) / form.below.get(ONE, 1)
    if list(form.below) != [ONE] or whole.denominator != 1:
        return _atom(("pow", _frozen(quotient(base)), _frozen(form)))
    rest = {monomial: value for monomial, value in form.above.items() if monomial != ONE}
    if not rest:
        return _whole_power(quotient(base), whole.numerator)
    atom = _atom(("pow", _frozen(quotient(base)), _frozen(Quotient(rest, form.below))))
    return _multiplied(atom, _whole_power(quotient(base), whole.numerator))


def _root(base: Ast, exponent: Fraction) -> Quotient | None:
    """A root of a positive rational as fractional powers of primes; None of anything else."""
    value = _value(base)
    if value is None or exponent.denominator > _LARGEST_ROOT:
        return None
    if value < 0 and exponent == Fraction(1, 2):
        inner = _root(("neg", base), exponent)
        return _multiplied(_atom(IMAGINARY), inner) if inner else None
    if value <= 0 or max(value.numerator, value.denominator) > _LARGEST_RADICAND:
        return None
    if abs(exponent) > _LARGEST_POWER:
        raise TooLarge
    powers: dict[Atom, Number] = {}
    for number, sign in ((value.numerator, 1), (value.denominator, -1)):
        for prime in factors(number):
            atom: Atom = ("prime", prime)
            powers[atom] = powers.get(atom, 0) + sign * exponent
    monomial, factor = reduced(powers)
    return Quotient({monomial: factor}, UNIT)


def _value(tree: Ast) -> Fraction | None:
    try:
        return exact(tree)
    except (TooExpensive, Unreadable) as error:
        raise TooLarge from error


def _function(tree: Ast) -> Quotient:
    known = _value(tree)
    if known is not None:
        return _number(known)
    name, argument = tree[1], tree[2]
    if name == "sqrt":
        return _power(("pow", argument, ("div", ("num", "1"), ("num", "2"))))
    if name == "root" and len(tree) == 4:
        return _power(("pow", argument, ("div", ("num", "1"), tree[3])))
    if name == "exp" and len(tree) == 3:
        return quotient(("pow", ("const", "e"), argument))
    return _atom(_keyed(tree))


def _literal(tree: Ast) -> Quotient:
    value = _value(tree)
    return _atom(_keyed(tree)) if value is None else _number(value)


def _percent(tree: Ast) -> Quotient:
    return _multiplied(quotient(tree[1]), _number(Fraction(1, 100)))


def _degree(tree: Ast) -> Quotient:
    half_turn = _multiplied(_number(Fraction(1, 180)), _atom(("const", "pi")))
    return _multiplied(quotient(tree[1]), half_turn)


_RULES: dict[str, Callable[[Ast], Quotient]] = {
    "num": _literal,
    "mixed": _literal,
    "sym": _atom,
    "const": _atom,
    "add": _sum,
    "mul": _product,
    "neg": _negative,
    "div": _division,
    "pow": _power,
    "percent": _percent,
    "degree": _degree,
    "fn": _function,
}
