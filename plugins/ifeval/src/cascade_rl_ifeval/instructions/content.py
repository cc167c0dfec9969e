"""detectable_content:* - placeholders and postscripts."""

from __future__ import annotations

import re

from pydantic import Field

from cascade_rl_ifeval.instructions.base import Arguments, Instruction, at_least

_PLACEHOLDER = re.compile(r"\[[^\]\n]*\]")


class Placeholders(Arguments):
    """The smallest number of placeholders."""

    num_placeholders: int = Field(ge=0)


class Postscript(Arguments):
    """How the postscript begins: "P.S.", "P.P.S" or any other marker."""

    postscript_marker: str = Field(min_length=1, pattern=r"\S")


def number_placeholders(response: str, arguments: Placeholders) -> str | None:
    """So many placeholders in square brackets, each on one line."""
    count = len(_PLACEHOLDER.findall(response))
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
    Instruction("detectable_content:number_placeholders", Placeholders, number_placeholders),
    Instruction("detectable_content:postscript", Postscript, postscript),
)
