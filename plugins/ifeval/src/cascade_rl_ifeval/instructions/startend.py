"""startend:* - how a response begins and ends."""

from __future__ import annotations

from cascade_rl_ifeval.instructions.base import Arguments, Instruction, NoArguments, Term, shown


class EndPhrase(Arguments):
    """The exact last words."""

    end_phrase: Term


def end_checker(response: str, arguments: EndPhrase) -> str | None:
    """The response ends with the phrase; case, outer blanks and double quotes aside."""
    ending = response.strip().strip('"').lower()
    phrase = arguments.end_phrase.strip().lower()
    return None if ending.endswith(phrase) else f"does not end with {shown(phrase)}"


def quotation(response: str, arguments: NoArguments) -> str | None:  # noqa: ARG001 - one shape for all checks
    """The whole response stands between two ASCII double quotes."""
    text = response.strip()
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return None if quoted else "not wrapped in double quotes"


INSTRUCTIONS = (
    Instruction("startend:end_checker", EndPhrase, end_checker),
    Instruction("startend:quotation", NoArguments, quotation),
)
