"""What a check found in a cascade, in a form that a terminal and a program can read."""

from __future__ import annotations

from typing import Literal

from cascade_rl.types import Record


class Finding(Record):
    """One thing to know about a cascade file.

    ``wrong``: it cannot run as written. ``unverified``: it may be right, but not on this
    machine (a pack or a model that is not here). ``warning``: it runs; look at it anyway.
    """

    kind: Literal["wrong", "unverified", "warning"]
    where: str
    key: str
    text: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.key, self.text) if part)
