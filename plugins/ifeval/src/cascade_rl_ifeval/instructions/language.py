"""language:* - the language of the response."""

from __future__ import annotations

from pydantic import Field

from cascade_rl_ifeval.instructions.base import Arguments, Instruction
from cascade_rl_ifeval.language import detect


class Language(Arguments):
    """An ISO 639-1 code, as langdetect writes it ("de", "zh-cn")."""

    language: str = Field(min_length=2, max_length=8)


def response_language(response: str, arguments: Language) -> str | None:
    """The whole response is in the language; text without letters is in none."""
    found = detect(response)
    wanted = arguments.language.strip().lower()
    return None if found == wanted else f"language is {found or 'not recognisable'}, not {wanted}"


INSTRUCTIONS = (Instruction("language:response_language", Language, response_language),)
