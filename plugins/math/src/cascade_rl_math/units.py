"""Units of measure: names to dimensions and factors, and the unit that words spell out.

A known unit is a product of base dimensions to whole powers and a rational factor, so that
1 m is 100 cm and 72 km/h is 20 m/s. Words that name no unit ("apples") say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from cascade_rl_math.limits import Unreadable
from cascade_rl_math.vocabulary import Token

Powers = dict[str, int]


class Unit(NamedTuple):
    """``factor`` base units, where ``dimensions`` are sorted (base, power) pairs.

    ``bare`` marks a unit written in plain letters, which may be variables: 20 m.
    """

    factor: Fraction
    dimensions: tuple[tuple[str, int], ...]
    bare: bool = False


#: Names and factors of the units of each dimension; currencies are dimensions of their own.
_ROWS: tuple[tuple[Powers, str], ...] = (
    ({"length": 1}, ("mm millimeter millimetre 1/1000|cm centimeter centimetre 1/100"
     "|nm 1/1000000000|dm decimeter decimetre 1/10|m meter metre 1|km kilometer kilometre 1000"
     "|in inch inche 127/5000|ft foot feet 381/1250|yd yard 1143/1250|mi mile 201168/125")),
    ({"length": 3}, "ml mL milliliter millilitre 1/1000000|l L liter litre 1/1000"),
    ({"mass": 1}, ("mg milligram 1/1000000|g gram 1/1000|kg kilogram 1|ton tonne 1000"
     "|lb pound 45359237/100000000|oz ounce 45359237/1600000000")),
    ({"time": 1}, ("ms millisecond 1/1000|s sec second 1|min minute 60|h hr hour 3600|day 86400"
     "|week 604800|month 2629746|year yr 31556952")),
    ({"length": 1, "time": -1}, "mph 1397/3125|kph 5/18"),
    ({"mass": 1, "length": 1, "time": -2}, "N newton 1"),
    ({"mass": 1, "length": 2, "time": -2}, "J joule 1|kJ kilojoule 1000"),
    ({"mass": 1, "length": 2, "time": -3}, "W watt 1|kW kilowatt 1000"),
    ({"mass": 1, "length": -1, "time": -2}, "Pa pascal 1|kPa 1000"),
    ({"time": -1}, "Hz hertz 1"),
    ({"gallon": 1}, "gal gallon 1"),
    ({"voltage": 1}, "V volt 1"),
    ({"current": 1}, "A amp ampere 1"),
    ({"kelvin": 1}, "K kelvin 1"),
    ({"celsius": 1}, "celsius 1"),
    ({"fahrenheit": 1}, "fahrenheit 1"),
    ({"radian": 1}, "rad radian 1"),
    ({"dollar": 1}, "dollar usd 1|cent 1/100"),
    ({"gbp": 1}, "gbp 1"),
    ({"euro": 1}, "euro eur 1"),
    ({"yuan": 1}, "yuan rmb 1"),
    ({"yen": 1}, "yen 1"),
    ({"rupee": 1}, "rupee 1"),
    ({"won": 1}, "won 1"),
)  # fmt: skip


def _table() -> dict[str, tuple[Powers, Fraction]]:
    table = {}
    for dimensions, entries in _ROWS:
        for entry in entries.split("|"):
            *names, factor = entry.split()
            table.update({name: (dimensions, Fraction(factor)) for name in names})
    return table


_UNITS = _table()
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_RAISED = {"squared": 2, "cubed": 3}
_PIECE = re.compile(r"[^\W\d_]+|(?<=[a-zA-Z])\d|\^\s*\{?\s*-?\s*\d+\s*\}?|/")
_LARGEST_POWER = 9


def is_unit(word: str) -> bool:
    """Whether a word names a unit."""
    return _lookup(word) is not None


def spelled(tokens: Sequence[Token], bare: bool = False) -> Unit | None:
    """The unit that the tokens beside a value spell, or None where they name none known.

    Raises ``Unreadable`` for a power that no unit has.
    """
    total: Powers = {}
    factor = Fraction(1)
    sign, ahead = 1, 1
    last: tuple[Powers, Fraction] | None = None
    for piece in _PIECE.findall(" ".join(token.value for token in tokens)):
        times = 0
        if piece in ("/", "per"):
            sign, last = -1, None
        elif piece[0] in "^123456789" or piece in _RAISED:
            times = (_RAISED.get(piece) or int(re.sub(r"[^-\d]", "", piece))) - 1
        elif piece in _POWERS:
            ahead = _POWERS[piece]
        elif (last := _lookup(piece)) is not None:
            times, ahead = ahead, 1
        if abs(times) > _LARGEST_POWER:
            raise Unreadable("a unit to a large power")
        if times and last is not None:
            for name, power in last[0].items():
                total[name] = total.get(name, 0) + power * times * sign
            factor *= last[1] ** (times * sign)
    known = tuple(sorted((name, power) for name, power in total.items() if power))
    return Unit(factor, known, bare) if known else None


def _lookup(word: str) -> tuple[Powers, Fraction] | None:
    for name in (word, word.casefold(), word.casefold().removesuffix("s")):
        if name in _UNITS and (len(name) > 1 or name == word):
            return _UNITS[name]
    return None
