"""detectable_content:* - placeholders and postscripts."""

from __future__ import annotations

import re

from pydantic import Field

from cascade_rl_ifeval.instructions.base import Arguments, Instruction, Term, at_least


class Placeholders(Arguments):
    """The smallest number of placeholders."""

    num_placeholders: int = Field(ge=0)

    @property
    def numbers(self) -> frozenset[int]:
        """The number of placeholders."""
        return frozenset({self.num_placeholders})


class Postscript(Arguments):
    """How the postscript begins: "P.S.", "P.P.S" or any other marker."""

    postscript_marker: Term


def bracketed(line: str) -> int:
    """How many "[...]" stand in a line, one after the other.

    A loop and not a pattern: on a line of opening brackets a pattern takes quadratic time.
    """
    count, start = 0, line.find("[")
    while start >= 0 and (end := line.find("]", start)) >= 0:
        count += 1
        start = line.find("[", end)
    return count


def number_placeholders(response: str, arguments: Placeholders) -> str | None:
    """So many placeholders in square brackets, each on one line."""
    count = sum(map(bracketed, response.split("\n")))
    return at_least(count, arguments.num_placeholders, "placeholders in []")


def marker_pattern(marker: str) -> str:
    """A marker as a pattern that allows a blank after each of its full stops ("P. S.").

    The last full stop of a marker is part of it ("P.S." does not match "PS").
    """
    letters = [re.escape(piece) for piece in marker.strip().lower().split(".")]
    return r"\.\s?".join(letters).removesuffix(r"\s?")


def postscript(response: str, arguments: Postscript) -> str | None:
    """The marker occurs anywhere; case aside."""
    found = re.search(marker_pattern(arguments.postscript_marker), response.lower())
    return None if found else f"no postscript {arguments.postscript_marker!r}"


INSTRUCTIONS = (
    Instruction(
        "detectable_content:number_placeholders", Placeholders, number_placeholders, "placeholders"
    ),
    Instruction("detectable_content:postscript", Postscript, postscript),
)
