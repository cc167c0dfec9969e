"""The named testlib checkers."""

from __future__ import annotations

import gzip
import json

import pytest

from cascade_rl_code.checkers import CHECKERS, run_checker

WORDS = {"AC": "ok", "WA": "wrong", "PE": "pe", "JUDGE_FAIL": "fail"}


def verdict(name, answer, output):
    return WORDS[run_checker(name, output.encode(), answer.encode()).verdict]


@pytest.mark.parametrize(
    ("name", "answer", "output", "wanted"),
    [
        ("wcmp", "a b\n", " a\n\nb ", "ok"),
        ("wcmp", "a b", "a B", "wrong"),
        ("wcmp", "a b", "a", "wrong"),
        ("lcmp", "a  b\nc\n", "a b \nc", "ok"),
        ("lcmp", "a\nb", "a", "pe"),
        ("lcmp", "a\nb", "a b", "wrong"),
        ("lcmp", "à b", "à  b", "ok"),
        ("fcmp", "a b", "a  b", "wrong"),
        ("fcmp", "a\r\nb", "a\nb", "ok"),
        ("icmp", "7", "7 ", "ok"),
        ("icmp", "7", "07", "pe"),
        ("icmp", "7", "+7", "pe"),
        ("icmp", "7", "2147483648", "pe"),
        ("icmp", "x", "7", "fail"),
        ("ncmp", "1 2", "1\n2", "ok"),
        ("ncmp", "1", "9223372036854775808", "pe"),
        ("ncmp", "1", "1 x", "pe"),
        ("uncmp", "1 2 2", "2 1 2", "ok"),
        ("uncmp", "1 2 2", "2 1 1", "wrong"),
        ("hcmp", "1" * 5000, "1" * 5000, "ok"),
        ("hcmp", "-0", "-0", "fail"),
        ("hcmp", "12", "012", "pe"),
        ("yesno", "yes", "YES", "ok"),
        ("yesno", "yes", "maybe", "pe"),
        ("yesno", "1", "yes", "fail"),
        ("nyesno", "yes no", "YES no", "ok"),
        ("nyesno", "yes no", "yes", "wrong"),
        ("dcmp", "1000000", "1000000.9", "ok"),
        ("rcmp", "1000000", "1000000.9", "wrong"),
        ("rcmp", "0", "0.0000015", "ok"),
        ("acmp", "0", "1e-6", "ok"),
        ("rcmp4", "1 1", "1.00005 0.99995", "ok"),
        ("rcmp6", "1", "1.00005", "wrong"),
        ("rcmp9", "1", "1.00000001", "wrong"),
        ("rcmp6", "1", "nan", "pe"),
        ("rcmp6", "1", "inf", "pe"),
        ("rcmp6", "1e999", "1e999", "ok"),
        ("rcmp6", "1", "1e999", "wrong"),
        ("rcmp6", "1", "0x1", "pe"),
        ("rncmp", "1 2", "1.00001 2", "ok"),
        ("rncmp", "1 2", "1.0001 2", "wrong"),
        ("caseicmp", "Case 1: 5\nCase 2: 6", "Case 1: 5", "pe"),
        ("caseicmp", "Case 1: 5", "Case 2: 5", "pe"),
        ("casencmp", "Case 1: 1 2\nCase 2: 3", "Case 1: 1 2 Case 2: 3", "ok"),
        ("casencmp", "Case 1: 1 2", "Case 1: 1", "wrong"),
        ("casewcmp", "Case 1: a\nCase 2: b", "Case 1: a", "pe"),
        ("casewcmp", "Case 1:\nCase 2: b", "Case 1:\nCase 2: b", "ok"),
    ],
)
def test_verdicts(name, answer, output, wanted):
    assert verdict(name, answer, output) == wanted


@pytest.mark.parametrize("name", sorted(CHECKERS))
def test_noise_gets_a_verdict(name):
    for noise in (b"", b"\xff\x00", b"9" * 10**6, b"-" * 999, b"\n" * 10**5, b"1e" + b"9" * 5000):
        assert run_checker(name, noise, b"1").verdict in ("AC", "WA", "PE", "JUDGE_FAIL")


def test_messages_never_quote_the_answer():
    assert "54321" not in run_checker("wcmp", b"1", b"54321").message
    assert "54321" not in run_checker("icmp", b"1", b"54321").message


def test_the_corpus_of_testlib_verdicts(shared):
    with gzip.open(shared / "corpora" / "checkers.jsonl.gz", "rt") as lines:
        rows = list(map(json.loads, lines))
    assert len(rows) == 193
    different = [
        row["id"]
        for row in rows
        if verdict(row["checker"], row["answer"], row["output"]) != row["verdict"]
    ]
    assert different == []
