"""Each of the 25 instructions: what follows it, what does not, and which arguments it takes."""

from __future__ import annotations

import pytest

from cascade_rl_ifeval.instructions import INSTRUCTIONS
from cascade_rl_ifeval.verifier import judge, requirements

NAMES = {
    "keywords:existence": "keywords",
    "keywords:frequency": "frequency keyword relation",
    "keywords:forbidden_words": "forbidden_words",
    "keywords:letter_frequency": "let_frequency let_relation letter",
    "language:response_language": "language",
    "length_constraints:number_sentences": "num_sentences relation",
    "length_constraints:number_paragraphs": "num_paragraphs",
    "length_constraints:number_words": "num_words relation",
    "length_constraints:nth_paragraph_first_word": "first_word nth_paragraph num_paragraphs",
    "detectable_content:number_placeholders": "num_placeholders",
    "detectable_content:postscript": "postscript_marker",
    "detectable_format:number_bullet_lists": "num_bullets",
    "detectable_format:constrained_response": "",
    "detectable_format:number_highlighted_sections": "num_highlights",
    "detectable_format:multiple_sections": "num_sections section_spliter",
    "detectable_format:json_format": "",
    "detectable_format:title": "",
    "combination:two_responses": "",
    "combination:repeat_prompt": "prompt_to_repeat",
    "startend:end_checker": "end_phrase",
    "startend:quotation": "",
    "change_case:capital_word_frequency": "capital_frequency capital_relation",
    "change_case:english_capital": "",
    "change_case:english_lowercase": "",
    "punctuation:no_comma": "",
}


def strict(name, arguments, response):
    truth = {"instruction_id_list": [name], "kwargs": [arguments]}
    return judge(response, requirements(truth))[0].strict


def test_the_table_holds_the_25_official_ids_with_their_argument_names():
    taken = {
        name: " ".join(
            sorted(field.alias or key for key, field in item.arguments.model_fields.items())
        )
        for name, item in INSTRUCTIONS.items()
    }
    assert taken == NAMES


CASES = [
    ("keywords:existence", {"keywords": ["tea", "cup"]}, "A CUP of milk", False),
    ("keywords:existence", {"keywords": ["tea", "cup"]}, "A CUP of Steam", True),
    ("keywords:existence", {"keywords": ["a+b"]}, "aab", False),
    ("keywords:existence", {"keywords": ["a+b"]}, "A+B", True),
    (
        "keywords:frequency",
        {"keyword": "tea", "frequency": 2, "relation": "at least"},
        "tea",
        False,
    ),
    (
        "keywords:frequency",
        {"keyword": "tea", "frequency": 2, "relation": "at least"},
        "tea, Teapot",
        True,
    ),
    (
        "keywords:frequency",
        {"keyword": "tea", "frequency": 2, "relation": "less than"},
        "tea",
        True,
    ),
    (
        "keywords:frequency",
        {"keyword": "tea", "frequency": 2, "relation": "less than"},
        "tea tea",
        False,
    ),
    ("keywords:frequency", {"keyword": "?", "frequency": 2, "relation": "at least"}, "a? b?", True),
    (
        "keywords:forbidden_words",
        {"forbidden_words": ["red", "ill"]},
        "The hill is still here.",
        True,
    ),
    ("keywords:forbidden_words", {"forbidden_words": ["red", "ill"]}, "He is Ill.", False),
    ("keywords:forbidden_words", {"forbidden_words": ["old man"]}, "An old man.", False),
    ("keywords:forbidden_words", {"forbidden_words": ["C++"]}, "C++17", False),
    (
        "keywords:letter_frequency",
        {"letter": "E", "let_frequency": 3, "let_relation": "at least"},
        "Eel, me",
        True,
    ),
    (
        "keywords:letter_frequency",
        {"letter": "e", "let_frequency": 3, "let_relation": "at least"},
        "Eel",
        False,
    ),
    (
        "keywords:letter_frequency",
        {"letter": "#", "let_frequency": 1, "let_relation": "less than"},
        "ab",
        True,
    ),
    (
        "language:response_language",
        {"language": "de"},
        "Heute gehen wir gemeinsam in den Wald.",
        True,
    ),
    (
        "language:response_language",
        {"language": "de"},
        "HEUTE GEHEN WIR GEMEINSAM IN DEN WALD.",
        True,
    ),
    (
        "language:response_language",
        {"language": "de"},
        "Today we walk to the forest together.",
        False,
    ),
    ("language:response_language", {"language": "de"}, "1, 2, 3!", False),
    ("language:response_language", {"language": "zh"}, "今天我们一起去森林里散步。", True),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": "at least"},
        "One. Two!",
        True,
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": "at least"},
        "One, two",
        False,
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": "less than"},
        "I met Dr. Smith.",
        True,
    ),
    ("length_constraints:number_words", {"num_words": 3, "relation": "at least"}, "isn't it", True),
    ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, "a b c", False),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n***\nb", True),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "***\na\n***\nb\n***", True),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n\nb", False),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n***\n\n***\nb", False),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Tea"},
        "a\n\ntea is hot",
        True,
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "tea"},
        "a\n\nteas are hot",
        False,
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "tea"},
        "a\n\ntea\n\nb",
        False,
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 1, "nth_paragraph": 1, "first_word": "it"},
        "“It's hot,” he said.",
        True,
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 1, "nth_paragraph": 1, "first_word": "it"},
        "... ?!",
        False,
    ),
    (
        "detectable_content:number_placeholders",
        {"num_placeholders": 2},
        "Dear [name], [date]",
        True,
    ),
    (
        "detectable_content:number_placeholders",
        {"num_placeholders": 2},
        "Dear [name], [da\nte]",
        False,
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[a [b] c]", False),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye.\nP. S. Hi", True),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye.\np.s. Hi", True),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye.\nPS Hi", False),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "Bye.\nP.P.S. Hi", True),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "Bye.\nP.S. Hi", False),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "Plan:\n* a\n  - b", True),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "**Plan**\n\n\n* a", False),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n* b\n* c", False),
    ("detectable_format:constrained_response", {}, "I think: My answer is maybe.", True),
    ("detectable_format:constrained_response", {}, "My answer is perhaps.", False),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a* and *b*", True),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a* and * *", False),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "**a**", False),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
        "SECTION 1\na\nSECTION2",
        True,
    ),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
        "Section 1\nSection 2",
        False,
    ),
    ("detectable_format:json_format", {}, '{"a": [1]}', True),
    ("detectable_format:json_format", {}, '```JSON\n{"a": [1]}```', True),
    ("detectable_format:json_format", {}, "{'a': 1}", False),
    ("detectable_format:json_format", {}, "9" * 5000, False),
    ("detectable_format:title", {}, "<<Tea>>\nHot.", True),
    ("detectable_format:title", {}, "<< >>\nHot.", False),
    ("detectable_format:title", {}, "<<Tea\n>>", False),
    ("detectable_format:title", {}, "<Tea>", False),
    ("combination:two_responses", {}, "tea\n******\ncoffee", True),
    ("combination:two_responses", {}, "tea\n******\n tea", False),
    ("combination:two_responses", {}, "a ****** b ****** c", False),
    ("combination:two_responses", {}, "a ****** ****** b", False),
    (
        "combination:repeat_prompt",
        {"prompt_to_repeat": "Name a tree. "},
        " name a TREE. Oak.",
        True,
    ),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Name a tree."}, "Oak.", False),
    ("startend:end_checker", {"end_phrase": "The End."}, '"So it was. the end." ', True),
    ("startend:end_checker", {"end_phrase": "The End."}, "The End. Or not.", False),
    ("startend:quotation", {}, ' "tea" ', True),
    ("startend:quotation", {}, '"', False),
    ("startend:quotation", {}, "“tea”", False),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "at least"},
        "I read NASA's plan",
        True,
    ),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "less than"},
        "I read Nasa's plan",
        True,
    ),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "less than"},
        "CANNOT",
        False,
    ),
    ("change_case:english_capital", {}, "PLEASE BRING THE SMALL TABLE TO THE GARDEN.", True),
    ("change_case:english_capital", {}, "PLEASE bring THE SMALL TABLE.", False),
    ("change_case:english_capital", {}, "HEUTE GEHEN WIR GEMEINSAM IN DEN WALD.", False),
    ("change_case:english_capital", {}, "123", False),
    ("change_case:english_lowercase", {}, "please bring the small table to the garden.", True),
    ("change_case:english_lowercase", {}, "Please bring the small table.", False),
    ("change_case:english_lowercase", {}, "heute gehen wir gemeinsam in den wald.", False),
    ("punctuation:no_comma", {}, "Tea; milk、water", True),
    ("punctuation:no_comma", {}, "tea, milk", False),
]


@pytest.mark.parametrize(("name", "arguments", "response", "expected"), CASES)
def test_verdict(name, arguments, response, expected):
    assert strict(name, arguments, response) is expected


def test_every_instruction_has_a_case_of_both_kinds():
    seen = {(name, expected) for name, _, _, expected in CASES}
    assert seen == {(name, expected) for name in NAMES for expected in (True, False)}


@pytest.mark.parametrize("response", ["", " \n\t "])
def test_a_blank_response_follows_nothing(response):
    arguments = {name: given for name, given, _, _ in CASES}
    followed = [name for name in NAMES if strict(name, arguments[name], response)]
    assert followed == []
