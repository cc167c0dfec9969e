"""Output against expected output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cascade_rl_code.output import Tolerance, compare_output
from cascade_rl_code.verdicts import Verdict


def verdict(stdout, expected, compare="lines", error=0.0, by_value=False):
    tolerance = Tolerance(error, by_value)
    return compare_output(stdout.encode(), expected.encode(), compare, tolerance).verdict.value


@pytest.mark.parametrize(
    ("stdout", "expected", "lines", "tokens", "exact"),
    [
        ("5\n6", "5\n6", "AC", "AC", "AC"),
        ("5\n6\n", "5\n6", "AC", "AC", "AC"),
        ("5\n6\n\n", "5\n6", "AC", "AC", "PE"),
        ("\n5\n6", "5\n6", "AC", "AC", "PE"),
        ("5 \n6", "5\n6", "AC", "AC", "PE"),
        ("5\r\n6\r\n", "5\n6\n", "AC", "AC", "PE"),
        ("1  2", "1 2", "AC", "AC", "PE"),
        ("5 6", "5\n6", "PE", "AC", "PE"),
        ("5\n\n6", "5\n6", "PE", "AC", "PE"),
        ("", "5\n6", "WA", "WA", "WA"),
        ("5", "5\n6", "WA", "WA", "WA"),
        ("5\n6\n7", "5\n6", "WA", "WA", "WA"),
        ("56", "5\n6", "WA", "WA", "WA"),
        ("yes", "YES", "WA", "WA", "WA"),
        ("", "", "AC", "AC", "AC"),
        ("\n \n", "", "AC", "AC", "PE"),
        ("x", "", "WA", "WA", "WA"),
        ("5\x00", "5", "WA", "WA", "WA"),
        ("05", "5", "WA", "WA", "WA"),
        ("5.0", "5", "WA", "WA", "WA"),
    ],
)
def test_the_three_ways_to_compare(stdout, expected, lines, tokens, exact):
    assert verdict(stdout, expected, "lines") == lines
    assert verdict(stdout, expected, "tokens") == tokens
    assert verdict(stdout, expected, "exact") == exact


@pytest.mark.parametrize(
    ("stdout", "expected", "error", "wanted"),
    [
        ("0.3333333", "0.333333333", 1e-6, "AC"),
        ("0.33333", "0.333333333", 1e-6, "WA"),
        ("1000000.5", "1000000.0", 1e-6, "AC"),
        ("1000002.5", "1000000.0", 1e-6, "WA"),
        ("1e3", "1000.0", 1e-6, "AC"),
        ("-0.0", "0.0", 1e-6, "AC"),
        ("3", "3.0000001", 1e-6, "AC"),
        ("1000000008", "1000000007", 1e-6, "WA"),
        ("1.0000000001", "1", 1e-6, "WA"),
        ("nan", "nan", 1e-6, "AC"),
        ("nan", "1.5", 1e-6, "WA"),
        ("inf", "1.5", 1e-6, "WA"),
        ("1e999", "1.5", 1e-6, "WA"),
        ("1e999", "1e998", 1e-6, "WA"),
        ("1_0.5", "10.5", 1e-6, "WA"),
        ("1.5x", "1.5", 1e-6, "WA"),
        ("0x1.8p0", "1.5", 1e-6, "WA"),
        ("0.3333333", "0.333333333", 0, "WA"),
        ("1." + "0" * 9999, "1.0", 1e-6, "WA"),
    ],
)
def test_the_tolerance_is_for_real_numbers_only(stdout, expected, error, wanted):
    assert verdict(stdout, expected, error=error) == wanted


@pytest.mark.parametrize(
    ("stdout", "wanted"),
    [
        ("5.0", "AC"),
        ("5e0", "AC"),
        ("+5", "AC"),
        ("5.0000001", "WA"),
        ("5e9999", "WA"),
        ("x", "WA"),
    ],
)
def test_integers_by_value_where_the_problem_says_real_numbers(stdout, wanted):
    assert verdict(stdout, "5", error=1e-6, by_value=True) == wanted


def test_the_message_tells_where_and_not_what():
    judged = compare_output(b"1 2 9", b"1 2 3")
    assert (judged.verdict, judged.message) == (Verdict.WA, "token 3 differs")
    assert compare_output(b"1 2", b"1 2 3").message == "2 tokens instead of 3"


@given(st.lists(st.lists(st.text("ab01.-", min_size=1), max_size=4), max_size=4))
def test_every_output_equals_itself_and_differs_from_one_token_more(rows):
    text = "\n".join(" ".join(row) for row in rows)
    for way in ("lines", "tokens", "exact"):
        assert verdict(text, text, way) == "AC"
        assert verdict(text + " z", text, way) == "WA"


@given(st.binary(), st.binary(), st.sampled_from([0.0, 1e-6]))
def test_bytes_of_any_kind_get_a_verdict(stdout, expected, error):
    judged = compare_output(stdout, expected, "lines", Tolerance(error, True))
    assert judged.verdict in (Verdict.AC, Verdict.WA, Verdict.PE)
