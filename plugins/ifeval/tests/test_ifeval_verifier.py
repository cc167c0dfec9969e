"""Strict and loose verdicts."""

from __future__ import annotations

from cascade_rl_ifeval.verifier import judge, loose_variants, requirements


def verdicts(response, *asked):
    truth = {
        "instruction_id_list": [name for name, _ in asked],
        "kwargs": [arguments for _, arguments in asked],
    }
    return [(item.strict, item.loose) for item in judge(response, requirements(truth))]


def test_the_eight_loose_variants():
    assert loose_variants("*a*\nb\n*c*") == [
        "*a*\nb\n*c*",
        "b\n*c*",
        "*a*\nb",
        "b",
        "a\nb\nc",
        "b\nc",
        "a\nb",
    ]  # the eighth, "b" without asterisks, repeats the fourth
    assert loose_variants("") == [""]


def test_loose_needs_one_variant_per_instruction_not_one_for_all():
    response = "Sure, here:\ntea\nBye, then"
    no_comma = ("punctuation:no_comma", {})
    begins = ("combination:repeat_prompt", {"prompt_to_repeat": "Sure"})
    assert verdicts(response, no_comma, begins) == [(False, True), (True, True)]


def test_strict_implies_loose():
    highlights = ("detectable_format:number_highlighted_sections", {"num_highlights": 1})
    assert verdicts("*tea*", highlights) == [(True, True)]


def test_a_variant_that_is_blank_follows_nothing():
    assert verdicts("a, b", ("punctuation:no_comma", {})) == [(False, False)]


def test_loose_can_be_left_out():
    required = requirements({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]})
    (verdict,) = judge("a, b\nc", required, loose=False)
    assert (verdict.strict, verdict.loose) == (False, False)
    assert verdict.fault == "1 commas"
