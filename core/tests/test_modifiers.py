"""The modifiers beside `length`: repetition, language mixing, format. Values worked by hand."""

from __future__ import annotations

import pytest

from cascade_rl import Completion, Prompt, Reward
from cascade_rl.errors import BadOptions
from cascade_rl.registry import Registry

BASE = Reward(score=1.0)


def modified(name, options, text, prompt="Say it.", mode="none"):
    asked = Prompt.from_text("p", prompt, mode=mode)
    return Registry().modifier(name, options).modify(asked, Completion(text=text), BASE)


@pytest.mark.parametrize(
    ("options", "text", "score"),
    [
        ({"n": 1}, "a b c d", 0.0),
        ({"n": 1}, "a b a b", 0.5),  # a and b of four words are new
        ({"n": 2}, "a b a b", 1 / 3),  # ab ba ab
        ({}, "one two three", 0.0),  # shorter than four words
        ({}, "", 0.0),
        ({"n": 2, "unit": "characters"}, "aaaa", 2 / 3),  # aa aa aa
        ({"n": 1, "part": "answer"}, "<think>a a a</think>b c", 0.0),
        ({"n": 1}, "x x</think> x x", 0.5),  # x and "x</think>" of four words are new
    ],
)
def test_repetition_is_the_share_of_pieces_that_were_there_before(options, text, score):
    assert modified("repetition", options, text).score == pytest.approx(score)


def test_repetition_says_what_it_counted():
    assert modified("repetition", {"n": 1}, "a b a b").reason == "2 of 4 pieces of 1 words repeat"


@pytest.mark.parametrize(
    ("options", "text", "score"),
    [
        ({}, "only English here", 0.0),
        ({}, "abc 这是", 2 / 5),
        ({}, "ещё слово", 1.0),
        ({}, "", 0.0),
        ({}, "12 + 30 = 42", 0.0),
        ({}, "αβγ with δ", 0.0),  # symbols
        ({"neutral": []}, "αab", 1 / 3),
        ({"wanted": ["LATIN", "CJK"]}, "abc 这是", 0.0),
        ({"wanted": ["CJK"]}, "これは漢字です", 0.0),  # kana and Han are one language
        ({}, "ＡＢＣ", 0.0),  # full-width Latin is Latin
        ({}, "𝑥 and 𝐀", 0.0),  # letters of formulas
        ({"part": "answer"}, "<think>слово</think>word", 0.0),
    ],
)
def test_language_mixing_is_the_share_of_letters_in_other_scripts(options, text, score):
    assert modified("language_mixing", options, text).score == pytest.approx(score)


def test_the_wanted_scripts_are_those_of_the_prompt():
    assert modified("language_mixing", {}, "слово", prompt="Скажи.").score == 0.0
    mixed = modified("language_mixing", {}, "word", prompt="Скажи.")
    assert (mixed.score, mixed.reason) == (1.0, "4 letters, not in CYRILLIC: 4 LATIN")


@pytest.mark.parametrize(
    ("options", "mode", "text", "score"),
    [
        ({}, "none", "anything <think>", 1.0),
        ({}, "think", "<think>a</think>b", 1.0),
        ({}, "think", "<think>a", 0.0),
        ({}, "think", "a</think>b</think>c", 0.0),
        ({}, "no_think", "b", 1.0),
        ({}, "no_think", "<think></think>b", 1.0),  # empty thoughts are none
        ({}, "no_think", "<think>a</think>b", 0.0),
        ({}, "no_think", "<think>a", 0.0),
        ({"tags": ["a", "b"]}, "none", "<a>1</a><b>2</b>", 1.0),
        ({"tags": ["a", "b"]}, "none", "<b>2</b><a>1</a>", 0.5),  # not in this order
        ({"tags": ["a"]}, "none", "<a>1</a><a>2</a>", 0.0),  # not once
        ({"tags": ["a"]}, "none", "</a><a>", 0.0),
        ({"tags": ["a"], "contains": ["x", "y"]}, "think", "<a>y</a></think>xy", 0.75),
        ({"thoughts": "closed"}, "none", "b", 0.0),
    ],
)
def test_format_is_the_share_of_marks_that_are_there(options, mode, text, score):
    assert modified("format", options, text, mode=mode).score == pytest.approx(score)


def test_format_names_what_is_missing():
    given = modified("format", {"tags": ["a"], "contains": ["x"]}, "b", mode="think")
    assert given.reason == "missing: closed thoughts, <a>, 'x'"


def test_an_option_out_of_its_range_is_refused():
    with pytest.raises(BadOptions, match=r"n: Input should be greater than or equal to 1"):
        Registry().modifier("repetition", {"n": 0})
