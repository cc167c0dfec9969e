"""keywords:* - words that must, must not, or must so often occur. Letter case never counts."""

from __future__ import annotations

import re

from pydantic import Field

from cascade_rl_ifeval.instructions.base import (
    Arguments,
    Counted,
    Instruction,
    Relation,
    Term,
    shown,
)


class Keywords(Arguments):
    """The words or phrases of which each must occur."""

    keywords: list[Term] = Field(min_length=1)


class Frequency(Counted):
    """How often a keyword must occur."""

    keyword: Term
    bound: int = Field(ge=0, alias="frequency")


class ForbiddenWords(Arguments):
    """The words or phrases of which none may occur."""

    forbidden_words: list[Term] = Field(min_length=1)


class LetterFrequency(Counted):
    """How often a single letter (or sign) must occur."""

    letter: str = Field(min_length=1, max_length=1)
    bound: int = Field(ge=0, alias="let_frequency")
    relation: Relation = Field(alias="let_relation")


def occurrences(term: str, text: str) -> int:
    """How often a term occurs, inside longer words too: what the reference counts."""
    return len(re.findall(re.escape(term.strip()), text, re.IGNORECASE))


def occurs_as_word(term: str, text: str) -> bool:
    """Whether a term occurs with no word character directly before or after it.

    Look-arounds and not ``\\b``: a word boundary never matches beside the outer sign of
    "$9" or "C++".
    """
    term = term.strip()
    before = r"(?<!\w)" if re.match(r"\w", term) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", term) else ""
    return re.search(before + re.escape(term) + after, text, re.IGNORECASE) is not None


def existence(response: str, arguments: Keywords) -> str | None:
    """Every keyword occurs."""
    missing = [term for term in arguments.keywords if not occurrences(term, response)]
    return f"missing {', '.join(map(shown, missing))}" if missing else None


def frequency(response: str, arguments: Frequency) -> str | None:
    """The keyword occurs at least, or less than, so often."""
    count = occurrences(arguments.keyword, response)
    return arguments.fault(count, f"x {shown(arguments.keyword)}")


def forbidden_words(response: str, arguments: ForbiddenWords) -> str | None:
    """No forbidden word occurs as a word of its own."""
    found = [term for term in arguments.forbidden_words if occurs_as_word(term, response)]
    return f"contains {', '.join(map(shown, found))}" if found else None


def letter_frequency(response: str, arguments: LetterFrequency) -> str | None:
    """The letter occurs at least, or less than, so often."""
    count = response.lower().count(arguments.letter.lower())
    return arguments.fault(count, f"x letter {shown(arguments.letter)}")


INSTRUCTIONS = (
    Instruction("keywords:existence", Keywords, existence),
    Instruction("keywords:frequency", Frequency, frequency, "times"),
    Instruction("keywords:forbidden_words", ForbiddenWords, forbidden_words),
    Instruction("keywords:letter_frequency", LetterFrequency, letter_frequency, "times"),
)
