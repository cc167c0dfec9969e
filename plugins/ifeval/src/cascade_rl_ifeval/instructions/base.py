"""What one verifiable instruction is: an id, a model of its arguments, and a check."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Relation = Literal["at least", "less than"]

_HOLDS: dict[Relation, Callable[[int, int], bool]] = {
    "at least": operator.ge,
    "less than": operator.lt,
}

#: A word, phrase or marker from a label: not blank.
Term = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Arguments(BaseModel):
    """Base of the argument models: exact types, no unknown names, nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @property
    def numbers(self) -> frozenset[int]:
        """The numbers which the prompt should name, for the data lint."""
        return frozenset()

    @property
    def impossible(self) -> str:
        """Why no response can follow this, for the data lint ("" where one can)."""
        return ""


class NoArguments(Arguments):
    """For instructions that take none."""


class Counted(Arguments):
    """A count and its relation to a bound; subclasses give both their official names."""

    bound: int = Field(ge=0)
    relation: Relation

    @property
    def numbers(self) -> frozenset[int]:
        """The bound."""
        return frozenset({self.bound})

    @property
    def impossible(self) -> str:
        """A count is never below 0."""
        return "no count is less than 0" if (self.relation, self.bound) == ("less than", 0) else ""

    def fault(self, count: int, what: str) -> str | None:
        """None when ``count`` stands in the relation to the bound, else a sentence about it."""
        if _HOLDS[self.relation](count, self.bound):
            return None
        return f"{count} {what}, {self.relation} {self.bound} asked"


A = TypeVar("A", bound=Arguments)

#: None when the response follows the instruction, else why it does not.
Check = Callable[[str, A], str | None]


@dataclass(frozen=True)
class Instruction:
    """One row of the table: ``check(response, arguments)`` is called on non-empty text.

    ``unit`` is what the instruction counts, as prompts name it ("words"); "" for nothing.
    """

    id: str
    arguments: type[Arguments]
    check: Check[Any]
    unit: str = ""


def at_least(count: int, bound: int, what: str) -> str | None:
    """None when ``count`` reaches ``bound``, else a sentence about it."""
    return None if count >= bound else f"{count} {what}, at least {bound} asked"


def exactly(count: int, asked: int, what: str) -> str | None:
    """None when the two are equal, else a sentence about it."""
    return None if count == asked else f"{count} {what}, exactly {asked} asked"


def shown(text: str, limit: int = 40) -> str:
    """A text as a message shows it: quoted, on one line, at most ``limit`` characters."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")
