"""What one verifiable instruction is: an id, a model of its arguments, and a check."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

Relation = Literal["at least", "less than"]

_HOLDS: dict[Relation, Callable[[int, int], bool]] = {
    "at least": operator.ge,
    "less than": operator.lt,
}


class Arguments(BaseModel):
    """Base of the argument models: exact types, no unknown names, nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class NoArguments(Arguments):
    """For instructions that take none."""


A = TypeVar("A", bound=Arguments)

#: None when the response follows the instruction, else why it does not.
Check = Callable[[str, A], str | None]


@dataclass(frozen=True)
class Instruction:
    """One row of the table: ``check(response, arguments)`` is called on non-empty text."""

    id: str
    arguments: type[Arguments]
    check: Check[Any]


def compare(count: int, relation: Relation, bound: int, what: str) -> str | None:
    """None when ``count`` stands in ``relation`` to ``bound``, else a sentence about it."""
    if _HOLDS[relation](count, bound):
        return None
    return f"{count} {what}, {relation} {bound} asked"


def at_least(count: int, bound: int, what: str) -> str | None:
    """``compare`` for the instructions whose relation is fixed."""
    return compare(count, "at least", bound, what)


def exactly(count: int, asked: int, what: str) -> str | None:
    """None when the two are equal, else a sentence about it."""
    return None if count == asked else f"{count} {what}, exactly {asked} asked"
