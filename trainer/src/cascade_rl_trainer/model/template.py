"""From prompts to token ids and back: ChatML with mode flags, or the tokenizer's own template.

The paper's template: every user turn ends with one space and ``/think`` or ``/no_think``;
the reply starts straight after the assistant header, in both modes. No system text is added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from cascade_rl.errors import ConfigError
from cascade_rl.types import Demonstration, Message, Mode, Prompt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

START, END = "<|im_start|>", "<|im_end|>"
FLAGS: dict[Mode, str] = {"think": " /think", "no_think": " /no_think", "none": ""}

#: What ``render`` does, as the template that a saved folder carries. ``enable_thinking``
#: true or false gives the flag; left out, there is none.
CHATML = (
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] }}"
    "{%- if message['role'] == 'user' and enable_thinking is defined -%}"
    "{{ ' /think' if enable_thinking else ' /no_think' }}"
    "{%- endif -%}"
    "{{ '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)


def render(messages: Sequence[Message], mode: Mode) -> str:
    """The text that the policy continues: all turns, then the assistant header."""
    turns = [f"{START}{m.role}\n{m.content}{_flag(m, mode)}{END}\n" for m in messages]
    return "".join(turns) + f"{START}assistant\n"


def _flag(message: Message, mode: Mode) -> str:
    return FLAGS[mode] if message.role == "user" else ""


@dataclass(frozen=True)
class Template:
    """How one tokenizer writes prompts and replies.

    ``stop_ids`` end a completion; the first of them is what a demonstration ends with.
    """

    tokenizer: PreTrainedTokenizerBase
    kind: Literal["flags", "own"]
    stop_ids: tuple[int, ...]

    def prompt_ids(self, prompt: Prompt) -> list[int]:
        """The tokens before the reply, assistant header included."""
        return _PROMPT_IDS[self.kind](self.tokenizer, prompt)

    def demonstration_ids(self, demonstration: Demonstration) -> tuple[list[int], list[int]]:
        """(prompt tokens, completion tokens); the completion ends with the stop token."""
        return self.prompt_ids(demonstration), self.completion_ids(demonstration.completion)

    def completion_ids(self, text: str) -> list[int]:
        """The tokens of a finished reply, stop token included."""
        return [*_encode(self.tokenizer, text), self.stop_ids[0]]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a completion without the stop token it may end with.

        Nothing else is left out: a verifier sees what the policy wrote, marks included.
        """
        body = list(ids[:-1] if ids and ids[-1] in self.stop_ids else ids)
        text = self.tokenizer.decode(
            body, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return str(text)


def make_template(
    tokenizer: PreTrainedTokenizerBase,
    kind: Literal["flags", "own"],
    generation_eos: int | Sequence[int] | None = None,
) -> Template:
    """The template for a tokenizer; ``flags`` also becomes the tokenizer's chat template.

    ``generation_eos`` is the model's own end token or tokens, for ``own``. Raises
    ``ConfigError`` when the tokenizer lacks what the kind needs.
    """
    if kind == "flags":
        stop_ids = (_flag_stop_id(tokenizer),)
        tokenizer.chat_template = CHATML
        return Template(tokenizer, kind, stop_ids)
    if not tokenizer.chat_template:
        raise ConfigError(
            "model.chat_template is `own`, but the tokenizer has no chat template; use `flags`"
        )
    given = [generation_eos] if isinstance(generation_eos, int) else list(generation_eos or [])
    ends = [i for i in (tokenizer.eos_token_id, *given) if i is not None]
    if not ends:
        raise ConfigError("neither the tokenizer nor the model names an end-of-sequence token")
    return Template(tokenizer, kind, tuple(dict.fromkeys(ends)))


def _flag_stop_id(tokenizer: PreTrainedTokenizerBase) -> int:
    for token in (START, END):
        ids = _encode(tokenizer, token)
        if tokenizer.convert_ids_to_tokens(ids) != [token]:  # an unknown token is one, too
            raise ConfigError(
                f"model.chat_template is `flags`, but {token} is not one token of this "
                "tokenizer; use `own`, or a model whose tokenizer knows ChatML"
            )
    return _encode(tokenizer, END)[0]


def _encode(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    return [int(i) for i in tokenizer(text, add_special_tokens=False).input_ids]


def _flag_prompt(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> list[int]:
    return _encode(tokenizer, render(prompt.messages, prompt.mode))


def _own_prompt(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> list[int]:
    extra: dict[str, Any] = {}
    if prompt.mode != "none":
        extra["enable_thinking"] = prompt.mode == "think"
    text = tokenizer.apply_chat_template(
        [m.model_dump() for m in prompt.messages],
        tokenize=False,
        add_generation_prompt=True,
        **extra,
    )
    return _encode(tokenizer, str(text))


_PROMPT_IDS: dict[str, Callable[[PreTrainedTokenizerBase, Prompt], list[int]]] = {
    "flags": _flag_prompt,
    "own": _own_prompt,
}
