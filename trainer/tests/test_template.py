"""The exact strings of the chat template, and the round trip through tokens."""

from __future__ import annotations

import pytest

from cascade_rl.errors import ConfigError
from cascade_rl.types import Demonstration, Message, Prompt
from cascade_rl_trainer.model.build import build_tokenizer
from cascade_rl_trainer.model.template import make_template, render

ASK = (Message(role="user", content="1+1=?"),)
TALK = (
    Message(role="system", content="Be brief."),
    Message(role="user", content="1+1=?"),
    Message(role="assistant", content="2"),
    Message(role="user", content="Sure?"),
)


@pytest.fixture(scope="module")
def template():
    return make_template(build_tokenizer(256), "flags")


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("think", "<|im_start|>user\n1+1=? /think<|im_end|>\n<|im_start|>assistant\n"),
        ("no_think", "<|im_start|>user\n1+1=? /no_think<|im_end|>\n<|im_start|>assistant\n"),
        ("none", "<|im_start|>user\n1+1=?<|im_end|>\n<|im_start|>assistant\n"),
    ],
)
def test_the_flag_ends_the_user_turn_and_the_reply_starts_after_the_header(mode, text):
    assert render(ASK, mode) == text


def test_every_user_turn_carries_the_flag_and_no_other_does():
    assert render(TALK, "no_think") == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\n1+1=? /no_think<|im_end|>\n"
        "<|im_start|>assistant\n2<|im_end|>\n"
        "<|im_start|>user\nSure? /no_think<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("messages", [ASK, TALK])
@pytest.mark.parametrize(
    ("mode", "arguments"),
    [
        ("think", {"enable_thinking": True}),
        ("no_think", {"enable_thinking": False}),
        ("none", {}),
    ],
)
def test_the_saved_template_says_the_same(template, messages, mode, arguments):
    turns = [m.model_dump() for m in messages]
    text = template.tokenizer.apply_chat_template(
        turns, tokenize=False, add_generation_prompt=True, **arguments
    )
    assert text == render(messages, mode)


def test_marks_are_single_tokens(template):
    vocabulary = template.tokenizer.get_vocab()
    ids = template.prompt_ids(Prompt.from_text("a", "hi", mode="think"))
    text = ["<|im_start|>", *"user", "Ċ", *"hi", "Ġ", *"/think", "<|im_end|>", "Ċ",
            "<|im_start|>", *"assistant", "Ċ"]  # fmt: skip
    assert ids == [vocabulary[t] for t in text]


def test_a_demonstration_ends_with_the_stop_token(template):
    shown = Demonstration.from_text(
        "a", "hi", mode="think", completion="<think>x</think>\\boxed{2}"
    )
    prompt, completion = template.demonstration_ids(shown)
    vocabulary = template.tokenizer.get_vocab()
    text = ["<think>", "x", "</think>", "\\boxed{", "2", "}", "<|im_end|>"]
    assert prompt == template.prompt_ids(shown)
    assert completion == [vocabulary[t] for t in text]


@pytest.mark.parametrize(
    "text", ["<think>a b\n</think>\\boxed{3}", "", " x ", "naïve ☃ 😀", "\t\0"]
)
def test_decoding_gives_back_what_was_written(template, text):
    ids = template.completion_ids(text)
    assert ids[-1] == template.stop_ids[0]
    assert template.decode(ids) == text
    assert template.decode(ids[:-1]) == text


def test_decoding_hides_nothing_but_the_last_stop_token(template):
    pad = template.tokenizer.pad_token_id
    stop = template.stop_ids[0]
    assert template.decode([pad, stop, stop]) == "<pad><|im_end|>"
    assert template.decode([]) == ""


def test_own_uses_the_tokenizers_template():
    tokenizer = build_tokenizer(64)
    tokenizer.chat_template = (
        "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}"
        "{{ '(t)' if enable_thinking is defined and enable_thinking }}"
        "{{ '>' if add_generation_prompt }}"
    )
    own = make_template(tokenizer, "own", generation_eos=[7, 2])
    assert own.stop_ids == (2, 7)
    assert own.decode(own.prompt_ids(Prompt.from_text("a", "hi", mode="think"))) == "[user]hi(t)>"
    assert own.decode(own.prompt_ids(Prompt.from_text("a", "hi"))) == "[user]hi>"


def test_own_needs_a_template_and_an_end():
    tokenizer = build_tokenizer(64)
    tokenizer.chat_template = None
    with pytest.raises(ConfigError, match="has no chat template; use `flags`"):
        make_template(tokenizer, "own")
    tokenizer = build_tokenizer(64)
    tokenizer.eos_token = None
    with pytest.raises(ConfigError, match="end-of-sequence token"):
        make_template(tokenizer, "own")


def test_flags_need_chatml_tokens():
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    plain = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"a": 0, "?": 1}, unk_token="?")),
        unk_token="?",
    )
    with pytest.raises(ConfigError, match=r"<\|im_start\|> is not one token"):
        make_template(plain, "flags")
