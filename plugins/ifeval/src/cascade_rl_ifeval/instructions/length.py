"""length_constraints:* - counted sentences, paragraphs and words."""

from __future__ import annotations

import re

from pydantic import Field

from cascade_rl_ifeval.instructions.base import (
    Arguments,
    Counted,
    Instruction,
    Term,
    exactly,
    shown,
)
from cascade_rl_ifeval.tokenise.sentences import count_sentences
from cascade_rl_ifeval.tokenise.words import count_words

_DIVIDER = re.compile(r"\s?\*\*\*\s?")
_HAS_WORD = re.compile(r"[^\W_]")
_LEADING = re.compile(r"^[\W_]+")
_WORD_END = re.compile(r"[.,?!'\"’”]")
_EDGES = re.compile(r"[\W_]+$")


class Sentences(Counted):
    """How many sentences."""

    bound: int = Field(ge=0, alias="num_sentences")


class Words(Counted):
    """How many words."""

    bound: int = Field(ge=0, alias="num_words")


class Paragraphs(Arguments):
    """The exact number of paragraphs."""

    num_paragraphs: int = Field(ge=1)

    @property
    def numbers(self) -> frozenset[int]:
        """The number of paragraphs."""
        return frozenset({self.num_paragraphs})


class FirstWord(Paragraphs):
    """The exact number of paragraphs and the first word of one of them (counted from 1)."""

    nth_paragraph: int = Field(ge=1)
    first_word: Term

    @property
    def impossible(self) -> str:
        """The official generator draws a paragraph one beyond the last, too."""
        if self.nth_paragraph <= self.num_paragraphs:
            return ""
        return f"no paragraph {self.nth_paragraph} in {self.num_paragraphs}"


def number_sentences(response: str, arguments: Sentences) -> str | None:
    """At least, or less than, so many sentences."""
    return arguments.fault(count_sentences(response), "sentences")


def number_words(response: str, arguments: Words) -> str | None:
    """At least, or less than, so many words."""
    return arguments.fault(count_words(response), "words")


def number_paragraphs(response: str, arguments: Paragraphs) -> str | None:
    """Exactly so many paragraphs with three asterisks between them; blank outer ones are none."""
    parts = [part.strip() for part in _DIVIDER.split(response)]
    if not all(parts[1:-1]):
        return "an empty paragraph between two dividers"
    count = sum(1 for part in parts if part)
    return exactly(count, arguments.num_paragraphs, "paragraphs between ***")


def first_word_of(paragraph: str) -> str:
    """The first word in small letters, without the punctuation around it ("" for none).

    It ends where an apostrophe or a mark stands inside it: "It's" begins with "it".
    """
    word = next((token for token in paragraph.split() if _HAS_WORD.search(token)), "")
    return _EDGES.sub("", _WORD_END.split(_LEADING.sub("", word), maxsplit=1)[0]).lower()


def nth_paragraph_first_word(response: str, arguments: FirstWord) -> str | None:
    """Exactly so many paragraphs (blank line between), and one begins with the word."""
    blocks = [block.strip() for block in response.split("\n\n")]
    count = sum(1 for block in blocks if block)
    if count != arguments.num_paragraphs:
        return exactly(count, arguments.num_paragraphs, "paragraphs")
    if arguments.impossible:
        return arguments.impossible
    # An empty block (three line breaks in a row) takes a number here and none above: officially so.
    paragraph = blocks[arguments.nth_paragraph - 1]
    if not paragraph:
        return f"paragraph {arguments.nth_paragraph} is empty"
    word = first_word_of(paragraph)
    if word == arguments.first_word.strip().lower():
        return None
    return f"paragraph {arguments.nth_paragraph} begins with {shown(word)}"


INSTRUCTIONS = (
    Instruction("length_constraints:number_sentences", Sentences, number_sentences, "sentences"),
    Instruction(
        "length_constraints:number_paragraphs", Paragraphs, number_paragraphs, "paragraphs"
    ),
    Instruction("length_constraints:number_words", Words, number_words, "words"),
    Instruction(
        "length_constraints:nth_paragraph_first_word",
        FirstWord,
        nth_paragraph_first_word,
        "paragraphs",
    ),
)
