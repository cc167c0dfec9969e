"""detectable_format:* - lists, sections, highlights, titles, JSON, fixed answers."""

from __future__ import annotations

import json
import re

from pydantic import Field

from cascade_rl_ifeval.instructions.base import (
    Arguments,
    Instruction,
    NoArguments,
    Term,
    at_least,
    exactly,
)

CONSTRAINED_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")

_BULLET = re.compile(r"^[^\S\n]*(?:\*(?!\*)|-)", re.MULTILINE)
_SINGLE = re.compile(r"\*([^\n*]*)\*")
_DOUBLE = re.compile(r"\*\*([^\n*]*)\*\*")
_FENCE = re.compile(r"```(?:json)?(.*?)(?:```)?", re.DOTALL | re.IGNORECASE)


class Bullets(Arguments):
    """The exact number of bullet points."""

    num_bullets: int = Field(ge=0)

    @property
    def numbers(self) -> frozenset[int]:
        """The number of bullet points."""
        return frozenset({self.num_bullets})


class Highlights(Arguments):
    """The smallest number of highlighted sections."""

    num_highlights: int = Field(ge=0)

    @property
    def numbers(self) -> frozenset[int]:
        """The number of highlights."""
        return frozenset({self.num_highlights})


class Sections(Arguments):
    """The smallest number of sections, and the word that heads each (the official spelling)."""

    section_spliter: Term
    num_sections: int = Field(ge=0)

    @property
    def numbers(self) -> frozenset[int]:
        """The number of sections."""
        return frozenset({self.num_sections})


def number_bullet_lists(response: str, arguments: Bullets) -> str | None:
    """Exactly so many lines begin with "*" or "-"; a bold line ("**Plan**") is no bullet."""
    return exactly(len(_BULLET.findall(response)), arguments.num_bullets, "bullet points")


def constrained_response(response: str, arguments: NoArguments) -> str | None:  # noqa: ARG001 - one shape for all checks
    """One of the three fixed answers occurs."""
    found = any(answer in response for answer in CONSTRAINED_ANSWERS)
    return None if found else f"none of {', '.join(map(repr, CONSTRAINED_ANSWERS))}"


def number_highlighted_sections(response: str, arguments: Highlights) -> str | None:
    """So many non-empty *highlights*; the two stars of **bold** open another, as officially."""
    inner = [*_SINGLE.findall(response), *_DOUBLE.findall(response)]
    count = sum(1 for text in inner if text.strip())
    return at_least(count, arguments.num_highlights, "highlighted sections")


def multiple_sections(response: str, arguments: Sections) -> str | None:
    """So many headings: the word, then a number."""
    heading = re.escape(arguments.section_spliter.strip()) + r"\s?\d+"
    count = len(re.findall(heading, response))
    return at_least(count, arguments.num_sections, f"{arguments.section_spliter!r} headings")


def json_format(response: str, arguments: NoArguments) -> str | None:  # noqa: ARG001 - one shape for all checks
    """The whole response is one JSON value, perhaps in one code fence."""
    text = response.strip()
    fenced = _FENCE.fullmatch(text)
    try:
        json.loads(fenced.group(1).strip() if fenced else text)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {type(error).__name__}"
    return None


def title_of(line: str) -> str:
    """What stands between the first "<<" and the last ">>" of a line ("" for nothing)."""
    start, end = line.find("<<"), line.rfind(">>")
    return line[start : end + 2].lstrip("<").rstrip(">").strip() if 0 <= start < end - 2 else ""


def title(response: str, arguments: NoArguments) -> str | None:  # noqa: ARG001 - one shape for all checks
    """A non-empty title in double angular brackets, on one line."""
    found = any(map(title_of, response.split("\n")))
    return None if found else "no title in <<>>"


INSTRUCTIONS = (
    Instruction("detectable_format:number_bullet_lists", Bullets, number_bullet_lists, "bullets"),
    Instruction("detectable_format:constrained_response", NoArguments, constrained_response),
    Instruction(
        "detectable_format:number_highlighted_sections",
        Highlights,
        number_highlighted_sections,
        "sections",
    ),
    Instruction("detectable_format:multiple_sections", Sections, multiple_sections, "sections"),
    Instruction("detectable_format:json_format", NoArguments, json_format),
    Instruction("detectable_format:title", NoArguments, title),
)
