"""Prime factors of numbers below a thousand million."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1_024)
def factors(value: int) -> tuple[int, ...]:
    """The prime factors of a positive number, each as often as it divides it."""
    found: list[int] = []
    prime = 2
    while prime * prime <= value:
        while value % prime == 0:
            found.append(prime)
            value //= prime
        prime += 1 if prime == 2 else 2
    return (*found, value) if value > 1 else tuple(found)
