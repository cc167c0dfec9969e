"""From one raw row to one ``Prompt``: a function per published format. No I/O.

A row that cannot be used raises ``BadRow`` (or ``BadLabel``) with what is wrong and the value;
the caller adds the place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import JsonValue, ValidationError

from cascade_rl.types import Message, Mode, Prompt
from cascade_rl_ifeval.labels import is_filler, parse_label, plain
from cascade_rl_ifeval.lint import findings
from cascade_rl_ifeval.verifier import ground_truth_of, requirements


class BadRow(ValueError):
    """A row that cannot be used; the text says why."""


#: What makes a prompt of a row, given the mode of the prompts.
Convert = Callable[[dict[str, Any], Mode], Prompt]


def from_ifeval(row: dict[str, Any], mode: Mode) -> Prompt:
    """Google's ``input_data.jsonl``: key, prompt (text), instruction_id_list, kwargs."""
    text = row.get("prompt")
    if not isinstance(text, str) or not text.strip():
        raise BadRow(f"prompt must be a text, got {text!r:.60}")
    return _prompt(row, "key", (Message(role="user", content=text),), mode)


def from_ifrl(row: dict[str, Any], mode: Mode) -> Prompt:
    """The IF-RL parquet: index, prompt (chat messages), instruction_id_list, kwargs."""
    turns = parse_label(plain(row.get("prompt")))
    if not isinstance(turns, list) or not turns:
        raise BadRow(f"prompt must be a list of chat messages, got {turns!r:.60}")
    messages = tuple(_message(turn) for turn in turns)
    if not any(message.role == "user" and message.content.strip() for message in messages):
        raise BadRow("prompt has no user turn with text")
    return _prompt(row, "index", messages, mode)


CONVERTERS: dict[str, Convert] = {"ifeval_jsonl": from_ifeval, "ifrl_parquet": from_ifrl}


def convert(row: Any, source: str, mode: Mode) -> Prompt:
    """The prompt of a row in the format of a source."""
    if isinstance(row, ValueError):
        raise row
    if not isinstance(row, dict):
        raise BadRow(f"a row must be an object, got {type(row).__name__}")
    return CONVERTERS[source](row, mode)


def _prompt(
    row: dict[str, Any], id_field: str, messages: tuple[Message, ...], mode: Mode
) -> Prompt:
    key = plain(row.get(id_field))
    if is_filler(key) or isinstance(key, bool) or not isinstance(key, int | str) or key == "":
        raise BadRow(f"{id_field} must be a number or a text, got {key!r:.60}")
    required = requirements(row)
    prompt = Prompt(
        id=f"ifeval-{key}", messages=messages, mode=mode, ground_truth=ground_truth_of(required)
    )
    found: list[JsonValue] = list(findings(prompt.text, required))
    return prompt.model_copy(update={"metadata": {"lint": found}}) if found else prompt


def _message(turn: Any) -> Message:
    if not isinstance(turn, dict):
        raise BadRow(f"a chat message must be an object, got {turn!r:.60}")
    wanted = {name: turn.get(name) for name in ("role", "content")}
    try:
        return Message.model_validate(wanted)
    except ValidationError as error:
        raise BadRow(f"a chat message needs role and content, got {wanted!r:.80}") from error
