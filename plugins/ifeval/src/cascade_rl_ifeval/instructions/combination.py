"""combination:* - two answers in one, or the request repeated first."""

from __future__ import annotations

from cascade_rl_ifeval.instructions.base import Arguments, Instruction, NoArguments, Term

SEPARATOR = "******"


class PromptToRepeat(Arguments):
    """The text which the response must begin with."""

    prompt_to_repeat: Term


def two_responses(response: str, arguments: NoArguments) -> str | None:  # noqa: ARG001 - one shape for all checks
    """Two different answers with six asterisks between them."""
    parts = [part.strip() for part in response.split(SEPARATOR)]
    if not all(parts[1:-1]):
        return "an empty answer between two separators"
    answers = [part for part in parts if part]
    if len(answers) != 2:
        return f"{len(answers)} answers, exactly 2 asked"
    return "the two answers are equal" if answers[0] == answers[1] else None


def repeat_prompt(response: str, arguments: PromptToRepeat) -> str | None:
    """The text stands at the very start; case and outer blanks aside."""
    wanted = arguments.prompt_to_repeat.strip().lower()
    starts = response.strip().lower().startswith(wanted)
    return None if starts else "does not begin with the text to repeat"


INSTRUCTIONS = (
    Instruction("combination:two_responses", NoArguments, two_responses),
    Instruction("combination:repeat_prompt", PromptToRepeat, repeat_prompt),
)
