"""Ground truths: what parquet and text labels do to them, and what is refused by name."""

from __future__ import annotations

import math

import pytest

from cascade_rl_ifeval.labels import clean_arguments, parse_label
from cascade_rl_ifeval.verifier import BadLabel, ground_truth_of, requirements

WORDS = "length_constraints:number_words"
UNION = dict.fromkeys(["keyword", "letter", "language", "num_bullets", "end_phrase", "first_word"])


def truth(name, arguments):
    return {"instruction_id_list": [name], "kwargs": [arguments]}


def test_filler_of_parquet_is_dropped_and_floats_become_integers():
    row = {**UNION, "num_words": 300.0, "relation": "at least", "frequency": math.nan}
    (required,) = requirements(truth(WORDS, row))
    assert required.name == "0:length_constraints:number_words"
    assert required.arguments.bound == 300
    assert ground_truth_of([required]) == truth(WORDS, {"num_words": 300, "relation": "at least"})


def test_only_integral_floats_are_cast():
    assert clean_arguments({"a": 2.0, "b": 2.5, "c": [1.0], "d": "2.0"}) == {
        "a": 2, "b": 2.5, "c": [1], "d": "2.0",
    }  # fmt: skip
    with pytest.raises(BadLabel, match=r"0:length_constraints:number_words: num_words.*2\.5"):
        requirements(truth(WORDS, {"num_words": 2.5, "relation": "at least"}))


@pytest.mark.parametrize(
    "label",
    [
        '{"num_words": 3, "relation": "at least", "N": null}',
        "{'num_words': 3, 'relation': 'at least', 'N': None}",
    ],
)
def test_labels_as_text_in_json_or_as_a_python_literal(label):
    assert requirements(truth(WORDS, label))[0].arguments.bound == 3


@pytest.mark.parametrize("label", ["nonsense", "f(1)", "{", "", "[" * 100_000, "\x00"])
def test_other_text_is_no_label(label):
    with pytest.raises(ValueError, match="neither JSON nor a Python literal"):
        parse_label(label)
    with pytest.raises(BadLabel, match="neither JSON nor a Python literal"):
        requirements(truth(WORDS, label))


def test_a_whole_ground_truth_as_text():
    text = "{'instruction_id_list': ['punctuation:no_comma'], 'kwargs': [{'N': None}]}"
    assert [item.name for item in requirements(text)] == ["0:punctuation:no_comma"]


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (None, "must be an object, got NoneType"),
        ([], "must be an object, got list"),
        ({}, "instruction_id_list must be a list"),
        ({"instruction_id_list": [], "kwargs": []}, "an id or more"),
        ({"instruction_id_list": [WORDS], "kwargs": []}, r"a list of 1 \(one for each id\), got 0"),
        ({"instruction_id_list": [WORDS], "kwargs": None}, "got None"),
        (truth("keywords:existence_v9", {}), "unknown instruction id 'keywords:existence_v9'"),
        (truth(["x"], {}), "unknown instruction id"),
        (truth(None, {}), "unknown instruction id None"),
        (truth(WORDS, {"relation": "at least"}), "num_words: Field required"),
        (truth(WORDS, None), "num_words: Field required"),
        (truth(WORDS, {"num_words": "3", "relation": "at least"}), "valid integer"),
        (truth(WORDS, {"num_words": True, "relation": "at least"}), "valid integer"),
        (truth(WORDS, {"num_words": -1, "relation": "at least"}), "greater than or equal to 0"),
        (truth(WORDS, {"num_words": 3, "relation": "at most"}), "'at least' or 'less than'"),
        (truth(WORDS, {"num_words": 3, "relation": "at least", "k": 1}), "k: Extra inputs"),
        (truth(WORDS, {"bound": 3, "relation": "at least"}), "num_words: Field required"),
        (truth(WORDS, 3), "kwargs must be an object, got 3"),
        (truth("punctuation:no_comma", {"num_words": 3}), "Extra inputs"),
        (truth("keywords:existence", {"keywords": []}), "at least 1 item"),
        (truth("keywords:existence", {"keywords": "tea"}), "valid list"),
        (truth("keywords:existence", {"keywords": ["tea", " "]}), "keywords.1"),
        (truth("language:response_language", {"language": "xx"}), "no such language"),
    ],
)
def test_bad_labels_are_refused_with_what_and_where(label, said):
    with pytest.raises(BadLabel, match=said):
        requirements(label)
