"""What can go wrong between a client and the service, and what is worth trying again."""

from __future__ import annotations

import random
from collections.abc import Iterator

from cascade_rl.errors import CascadeError

#: Answers that another try may change: too slow, too many, a fault on the way, a restart.
WORTH_RETRYING = frozenset({408, 425, 429, 500, 502, 503, 504})
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0


class ServiceRefused(CascadeError):
    """The service understood and said no: a wrong token, domain, option or request.

    Not a reward: trying again would not help, and every sample would meet the same.
    """

    def __init__(self, message: str, http: int) -> None:
        super().__init__(message)
        self.http = http


class Unanswered(CascadeError):
    """No answer within the deadline; the text is the last thing that went wrong."""


def pauses(randomness: random.Random) -> Iterator[float]:
    """Seconds before each new try: doubling, and drawn so that many clients spread out."""
    longest = FIRST_PAUSE_S
    while True:
        yield randomness.uniform(longest / 2, longest)
        longest = min(longest * 2, LONGEST_PAUSE_S)
