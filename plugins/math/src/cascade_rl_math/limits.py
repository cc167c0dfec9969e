"""What an answer may cost, checked before anything is evaluated.

An answer beyond a limit is wrong (``too_expensive``), never unscored: a policy must not
learn to hang the verifier. The limits are far above ordinary answers.
"""

from __future__ import annotations

MAX_CHARS = 8_000
MAX_TOKENS = 8_000
#: Brackets within brackets; keeps every recursive function far from the interpreter's limit.
MAX_DEPTH = 40
#: Digits of a number as written.
MAX_WRITTEN_DIGITS = 1_000
#: Decimal digits of a number as evaluated, numerator and denominator each.
MAX_VALUE_DIGITS = 20_000
MAX_FACTORIAL = 5_000
#: Members of a list, set, tuple or union; entries of a matrix.
MAX_ITEMS = 64
#: Plus-minus signs in one expression: each doubles the number of values.
MAX_SIGNS = 4
#: Products of terms that the polynomial normal forms of one verdict may take.
POLYNOMIAL_WORK = 12_000
#: Bytes of address space of the symbolic child.
MAX_CHILD_MEMORY = 1024**3


class Unreadable(Exception):
    """The text is not an answer that this pack can read; the message says why."""


class TooExpensive(Exception):
    """The text costs more than a limit allows; the message names the limit."""


_OPENING, _CLOSING = "({[", ")}]"


def check_text(text: str) -> None:
    """Raise ``TooExpensive`` when a text is too long or nested too deeply. Linear time."""
    if len(text) > MAX_CHARS:
        raise TooExpensive(f"{len(text)} characters, at most {MAX_CHARS} are read")
    depth = deepest = 0
    for symbol in text:
        if symbol in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        elif symbol in _CLOSING:
            depth -= 1
    if deepest > MAX_DEPTH:
        raise TooExpensive(f"brackets nested {deepest} deep, at most {MAX_DEPTH} are read")
