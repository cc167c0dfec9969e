"""The data lint: numbers in the prompt against numbers in the label."""

from __future__ import annotations

import pytest

from cascade_rl_ifeval.lint import findings, mentions
from cascade_rl_ifeval.verifier import judge, requirements

WORDS = "length_constraints:number_words"
SECTIONS = "detectable_format:multiple_sections"


def lint(text, *asked):
    truth = {
        "instruction_id_list": [name for name, _ in asked],
        "kwargs": [arguments for _, arguments in asked],
    }
    return findings(text, requirements(truth))


def words(relation, n):
    return (WORDS, {"relation": relation, "num_words": n})


@pytest.mark.parametrize(
    ("text", "unit", "numbers"),
    [
        ("at least 1,200 words", "words", {1200}),
        ("a 300+ word essay", "words", {300}),
        ("three or more short sentences", "sentences", {3}),
        ("Five bullet points, 2 bullets", "bullets", {5, 2}),
        ("in 2024 the words", "words", set()),
        ("9" * 20 + " words", "words", set()),
        ("some words", "words", set()),
    ],
)
def test_mentions(text, unit, numbers):
    assert mentions(text, unit) == numbers


def test_a_number_in_the_text_that_no_label_explains():
    said = ["0:length_constraints:number_words: the prompt says 50 words, kwargs say 30"]
    assert lint("Write 50 words.", words("at least", 30)) == said


@pytest.mark.parametrize(
    "text", ["Write 30 words.", "At most 29 words.", "Write a lot.", "50 cups"]
)
def test_no_finding(text):
    assert lint(text, words("less than", 30)) == []


def test_two_bounds_explain_two_numbers():
    assert lint("From 20 words to 30 words.", words("at least", 20), words("less than", 31)) == []


def test_an_extra_number_alone_is_no_finding():
    assert lint("Write 30 words; titles have 4 words.", words("at least", 30)) == []


def test_the_same_instruction_twice():
    found = lint("Write.", words("at least", 20), words("at least", 20))
    assert found == [
        "1:length_constraints:number_words repeats an instruction with the same arguments"
    ]


def test_each_unit_by_itself():
    sections = (SECTIONS, {"section_spliter": "PART", "num_sections": 4})
    found = lint("Write 30 words in 3 sections.", words("at least", 30), sections)
    assert found == []  # one off is the same
    found = lint("Write 30 words in two sections.", words("at least", 30), sections)
    assert found == [f"1:{SECTIONS}: the prompt says 2 sections, kwargs say 4"]


def test_demands_that_nobody_can_meet():
    first_word = "length_constraints:nth_paragraph_first_word"
    beyond = (first_word, {"num_paragraphs": 2, "nth_paragraph": 3, "first_word": "tea"})
    found = lint("Write.", words("less than", 0), beyond)
    assert found == [
        "0:length_constraints:number_words can never be followed: no count is less than 0",
        f"1:{first_word} can never be followed: no paragraph 3 in 2",
    ]
    (verdict,) = judge(
        "tea\n\ntea", requirements({"instruction_id_list": [first_word], "kwargs": [beyond[1]]})
    )
    assert (verdict.strict, verdict.fault) == (False, "no paragraph 3 in 2")


def test_bounds_that_exclude_each_other():
    said = ["length_constraints:number_words: at least 50 and less than 50 exclude each other"]
    assert lint("Write.", words("at least", 50), words("less than", 50)) == said
    assert lint("Write.", words("at least", 49), words("less than", 50)) == []
    tea, milk = (
        ("keywords:frequency", {"keyword": keyword, "frequency": 2, "relation": relation})
        for keyword, relation in (("tea", "at least"), ("milk", "less than"))
    )
    assert lint("Write.", tea, milk) == []
