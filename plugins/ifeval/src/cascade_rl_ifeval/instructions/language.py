"""language:* - the language of the response."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from cascade_rl_ifeval.instructions.base import Arguments, Instruction
from cascade_rl_ifeval.language import CODES, detect


def _known(code: str) -> str:
    code = code.strip().lower()
    if code not in CODES:
        raise ValueError(f"no such language; known are {', '.join(sorted(CODES))}")
    return code


class Language(Arguments):
    """An ISO 639-1 code which the detector can answer; "zh" stands for both scripts."""

    language: Annotated[str, AfterValidator(_known)]


def response_language(response: str, arguments: Language) -> str | None:
    """The whole response is in the language; text without letters is in none."""
    found, wanted = detect(response), arguments.language
    if wanted in {found, found.partition("-")[0]}:
        return None
    return f"language is {found or 'not recognisable'}, not {wanted}"


INSTRUCTIONS = (Instruction("language:response_language", Language, response_language),)
