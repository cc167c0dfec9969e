"""Equality of plain data: what a function returned against what it should have.

Nothing here calls a method that a program under test could have written: values arrive as
exact built-in types (see ``cascade_rl.sandbox.Outcome.value``).
"""

from __future__ import annotations

import math
from typing import Any

#: Deeper values are unequal to everything: no recursion limit is met on the way.
MAX_DEPTH = 200


def equal_json(
    value: Any, expected: Any, tolerance: float = 0.0, strict_bool: bool = False, depth: int = 0
) -> bool:
    """Whether a value equals data from JSON, which has no tuples and only text as keys.

    A tuple equals the list of its items, and a number as a key the text JSON would write.
    Where ``expected`` is a float, ``tolerance`` is absolute or relative; integers are exact.
    """
    if depth > MAX_DEPTH:
        return False
    deeper = (tolerance, strict_bool, depth + 1)
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(expected)
            and all(equal_json(v, e, *deeper) for v, e in zip(value, expected, strict=True))
        )
    if isinstance(expected, dict):
        return isinstance(value, dict) and _equal_dicts(value, expected, deeper)
    if isinstance(expected, int | float) and isinstance(value, int | float):
        if strict_bool and isinstance(expected, bool) != isinstance(value, bool):
            return False
        return equal_numbers(value, expected, tolerance)
    return type(value) is type(expected) and bool(value == expected)


def equal_python(value: Any, expected: Any) -> bool:
    """What ``value == expected`` says in Python of plain data, and never an exception."""
    try:
        return bool(value == expected)
    except (RecursionError, ArithmeticError, ValueError):
        return False


def equal_numbers(value: float, expected: float, tolerance: float) -> bool:
    """Equal, or ``expected`` is a float and the error is at most ``tolerance``.

    The error is absolute or relative to ``expected``, whichever is smaller. NaN equals NaN.
    """
    if value == expected:
        return True
    if not isinstance(expected, float) or not tolerance:
        return _both_nan(value, expected)
    try:
        number = float(value)
    except OverflowError:
        return False
    if not (math.isfinite(number) and math.isfinite(expected)):
        return _both_nan(number, expected)
    return abs(number - expected) <= tolerance * max(1.0, abs(expected))


def _both_nan(value: float, expected: float) -> bool:
    return value != value and expected != expected


def _equal_dicts(
    value: dict[Any, Any], expected: dict[Any, Any], deeper: tuple[float, bool, int]
) -> bool:
    if len(value) != len(expected):
        return False
    try:
        keyed = {_key(key): item for key, item in value.items()}
    except ValueError:  # an integer of more digits than Python writes
        return False
    return keyed.keys() == expected.keys() and all(
        equal_json(keyed[key], item, *deeper) for key, item in expected.items()
    )


def _key(key: Any) -> Any:
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return str(key) if isinstance(key, int | float) else key
