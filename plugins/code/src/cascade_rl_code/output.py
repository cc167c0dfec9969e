"""Standard output against the expected one, without a checker. Bytes in, verdict out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from cascade_rl_code.truth import Compare
from cascade_rl_code.verdicts import Judged, Verdict

_INTEGER = re.compile(rb"[+-]?\d+")
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?")
_MAX_NUMBER = 400  # characters: longer tokens are compared as text


@dataclass(frozen=True)
class Tolerance:
    """How numbers may differ: absolutely or relatively by ``error``; 0 means not at all.

    Only a token that the expected output writes with a decimal point or an exponent may. One
    written as an integer must be the same text or, with ``integers_by_value``, the same
    number (5.0 for 5): for problems that say their output is real numbers.
    """

    error: float = 0.0
    integers_by_value: bool = False


def compare_output(
    stdout: bytes,
    expected: bytes,
    compare: Compare = "lines",
    tolerance: Tolerance = Tolerance(),
) -> Judged:
    """AC, WA, or PE where only blanks and line ends differ.

    ``lines``: blanks at the ends of lines and empty lines at both ends are ignored, several
    blanks are one. ``tokens``: all white space is alike. ``exact``: every byte counts but one
    line end at the end.
    """
    return _COMPARERS[compare](stdout, expected, tolerance)


def equal_tokens(token: bytes, expected: bytes, tolerance: Tolerance) -> bool:
    """Whether two tokens are the same text, or numbers that the tolerance calls equal."""
    if token == expected:
        return True
    if max(len(token), len(expected)) > _MAX_NUMBER or not _NUMBER.fullmatch(token):
        return False
    if _INTEGER.fullmatch(expected):
        same = tolerance.integers_by_value
        return same and Decimal(token.decode()) == Decimal(expected.decode())
    if not tolerance.error or not _NUMBER.fullmatch(expected):
        return False
    number, wanted = float(token), float(expected)
    # Overflows: inf - inf is NaN, which is not within anything.
    return abs(number - wanted) <= tolerance.error * max(1.0, abs(wanted)) < math.inf


def _lines(stdout: bytes, expected: bytes, tolerance: Tolerance) -> Judged:
    found, wanted = _rows(stdout), _rows(expected)
    flat = _tokens(stdout, expected, tolerance)
    if flat.verdict is not Verdict.AC:
        return flat
    if [len(row) for row in found] == [len(row) for row in wanted]:
        return flat
    return Judged(Verdict.PE, f"right tokens in {len(found)} lines that break elsewhere")


def _tokens(stdout: bytes, expected: bytes, tolerance: Tolerance) -> Judged:
    found, wanted = stdout.split(), expected.split()
    for number, (token, want) in enumerate(zip(found, wanted, strict=False), start=1):
        if not equal_tokens(token, want, tolerance):
            return Judged(Verdict.WA, f"token {number} differs")
    if len(found) != len(wanted):
        return Judged(Verdict.WA, f"{len(found)} tokens instead of {len(wanted)}")
    return Judged(Verdict.AC)


def _exact(stdout: bytes, expected: bytes, _tolerance: Tolerance) -> Judged:
    if stdout.removesuffix(b"\n") == expected.removesuffix(b"\n"):
        return Judged(Verdict.AC)
    if stdout.split() == expected.split():
        return Judged(Verdict.PE, "only white space differs")
    return Judged(Verdict.WA, "the output differs")


def _rows(text: bytes) -> list[list[bytes]]:
    rows = [line.split() for line in text.replace(b"\r\n", b"\n").split(b"\n")]
    while rows and not rows[-1]:
        rows.pop()
    first = next((i for i, row in enumerate(rows) if row), 0)
    return rows[first:]


_COMPARERS: dict[Compare, Callable[[bytes, bytes, Tolerance], Judged]] = {
    "lines": _lines,
    "tokens": _tokens,
    "exact": _exact,
}
