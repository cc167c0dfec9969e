"""change_case:* - capital and small letters."""

from __future__ import annotations

from pydantic import Field

from cascade_rl_ifeval.instructions.base import (
    Counted,
    Instruction,
    NoArguments,
    Relation,
)
from cascade_rl_ifeval.language import detect
from cascade_rl_ifeval.tokenise.words import count_capital_words


class CapitalWords(Counted):
    """How many words in capitals."""

    bound: int = Field(ge=0, alias="capital_frequency")
    relation: Relation = Field(alias="capital_relation")


def capital_word_frequency(response: str, arguments: CapitalWords) -> str | None:
    """At least, or less than, so many words all in capitals ("I" is one)."""
    return arguments.fault(count_capital_words(response), "words in capitals")


def english_capital(response: str, arguments: NoArguments) -> str | None:  # noqa: ARG001 - one shape for all checks
    """English, and no small letter."""
    return _not_english(response) if response.isupper() else "not all in capital letters"


def english_lowercase(response: str, arguments: NoArguments) -> str | None:  # noqa: ARG001 - one shape for all checks
    """English, and no capital letter."""
    return _not_english(response) if response.islower() else "not all in small letters"


def _not_english(response: str) -> str | None:
    found = detect(response)
    return None if found == "en" else f"language is {found or 'not recognisable'}, not en"


INSTRUCTIONS = (
    Instruction(
        "change_case:capital_word_frequency", CapitalWords, capital_word_frequency, "times"
    ),
    Instruction("change_case:english_capital", NoArguments, english_capital),
    Instruction("change_case:english_lowercase", NoArguments, english_lowercase),
)
