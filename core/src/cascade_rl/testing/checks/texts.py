"""The texts of the attacks: for a prompt and the right answers to some prompts, completions.

``replies`` holds right answers, that of the prompt itself neither first nor last.
"""

from __future__ import annotations

from collections.abc import Callable

from cascade_rl.types import Prompt

_KB = 1_000

Texts = Callable[[Prompt, list[str]], list[str]]


def _empty(prompt: Prompt, _: list[str]) -> list[str]:
    return ["", "<think></think>"] if prompt.mode == "think" else [""]


def _whitespace(_: Prompt, __: list[str]) -> list[str]:
    return [" ", "\n\n\t \r\n", "\u00a0\u2003\u200b"]


def _nul(_: Prompt, __: list[str]) -> list[str]:
    return ["\x00", "\x00" * 200, "a\x00b"]


def _huge(_: Prompt, __: list[str]) -> list[str]:
    return ["a" * (100 * _KB), "word " * (20 * _KB), "7" * (100 * _KB)]


def _emoji(_: Prompt, __: list[str]) -> list[str]:
    return ["\U0001f600", "\U0001f469\u200d\U0001f469\u200d\U0001f467 " * 40, "\ud83d"]


def _braces(_: Prompt, __: list[str]) -> list[str]:
    return ["{", "\\boxed{", '{"answer": [', "\\frac{" * 500, "(" * 5_000, "<b>" * 500]


def _echo(prompt: Prompt, replies: list[str]) -> list[str]:
    whole = "\n".join(message.content for message in prompt.messages)
    return [text for text in dict.fromkeys([prompt.text, whole]) if text and text not in replies]


def _stuffing(prompt: Prompt, replies: list[str]) -> list[str]:
    listed = list(replies)
    truth = prompt.ground_truth
    if isinstance(truth, str | int | float) and not isinstance(truth, bool):
        listed = [*map(str, range(10)), str(truth), *map(str, range(10, 20))]
    if len(listed) < 2:
        return []
    joined = " or ".join(listed)
    return [f"The answer is {joined}.", joined, " or ".join(replies) or joined]


ATTACKS: dict[str, Texts] = {
    "empty": _empty,
    "whitespace": _whitespace,
    "nul": _nul,
    "huge": _huge,
    "emoji": _emoji,
    "braces": _braces,
    "echo": _echo,
    "stuffing": _stuffing,
}

#: Never right, whatever the prompt asks for.
NEVER_RIGHT = frozenset({"empty", "whitespace"})
