"""Sentences and words, on inputs whose right count the reference's tokenisers give."""

from __future__ import annotations

import pytest

from cascade_rl_ifeval.tokenise.sentences import split_sentences
from cascade_rl_ifeval.tokenise.words import count_capital_words, count_words, tokens


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n", []),
        ("no mark", ["no mark"]),
        ("One. Two? Three! ", ["One.", "Two?", "Three!"]),
        ("One.Two", ["One.Two"]),
        ("It is 3.5 m, e.g. more", ["It is 3.5 m, e.g.", "more"]),
        ("I saw Dr. Lee. He left.", ["I saw Dr. Lee.", "He left."]),
        ("At 9 a.m. we left.", ["At 9 a.m. we left."]),
        ("In the U.S. The law", ["In the U.S.", "The law"]),
        ("By J. Smith. A. Steps", ["By J. Smith.", "A.", "Steps"]),
        ("Take vitamin C. The end", ["Take vitamin C. The end"]),
        ("Wait... what? Well... The end", ["Wait... what?", "Well...", "The end"]),
        ("1. Tea\n2. milk", ["1.", "Tea\n2. milk"]),
        ("in 1990. They", ["in 1990.", "They"]),
        ('"Stop!" he said. (Really.) Yes', ['"Stop!"', "he said.", "(Really.)", "Yes"]),
        ("**Bold.** Next", ["**Bold.", "** Next"]),
        ("What?! No", ["What?!", "No"]),
        ("?! No", ["?", "!", "No"]),
        ("न्याय। हो।", ["न्याय। हो।"]),
        ("co-op. Inc. and St. Paul", ["co-op.", "Inc. and St. Paul"]),
    ],
)
def test_sentences(text, sentences):
    assert split_sentences(text) == sentences


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("... !", 0),
        ("isn't it", 3),
        ("snake_case 3.5", 3),
        ("déjà-vu", 2),
        ("de\u0301ja\u0300", 1),
        ("बिहान विश्राम", 2),
    ],
)
def test_words(text, count):
    assert count_words(text) == count


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm here.", ["I", "'m", "here", "."]),
        ("DON'T", ["DO", "N'T"]),
        ("John's dogs' tails", ["John", "'s", "dogs", "'", "tails"]),
        ("I cannot, gonna", ["I", "can", "not", ",", "gon", "na"]),
        ("A,B at 1,000", ["A", ",", "B", "at", "1,000"]),
        ("*A* (B) C-D", ["*", "A", "*", "(", "B", ")", "C-D"]),
        ("“A” and ''B''", ["“", "A", "”", "and", "''", "B", "''"]),
        ("A...B -- C", ["A", "...", "B", "--", "C"]),
        ("'Tis I", ["'T", "is", "I"]),
    ],
)
def test_treebank_tokens(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [("I am. NASA, B-52 and 52", 3), ("CAN'T", 2), ("Tea", 0), ('"SUN SUN"', 2), ("ÄÖ ß", 1)],
)
def test_capital_words(text, count):
    assert count_capital_words(text) == count
