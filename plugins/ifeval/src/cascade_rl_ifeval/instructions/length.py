"""length_constraints:* - counted sentences, paragraphs and words."""

from __future__ import annotations

import re

from pydantic import Field

from cascade_rl_ifeval.instructions.base import (
    Arguments,
    Instruction,
    Relation,
    compare,
    exactly,
)
from cascade_rl_ifeval.tokenise.sentences import count_sentences
from cascade_rl_ifeval.tokenise.words import count_words

_DIVIDER = re.compile(r"\s?\*\*\*\s?")
_WORD_END = re.compile(r"[.,?!'\"]")


class Sentences(Arguments):
    """How many sentences."""

    num_sentences: int = Field(ge=0)
    relation: Relation


class Words(Arguments):
    """How many words."""

    num_words: int = Field(ge=0)
    relation: Relation


class Paragraphs(Arguments):
    """The exact number of paragraphs."""

    num_paragraphs: int = Field(ge=0)


class FirstWord(Arguments):
    """The exact number of paragraphs and the first word of one of them (counted from 1)."""

    num_paragraphs: int = Field(ge=0)
    nth_paragraph: int = Field(ge=1)
    first_word: str = Field(min_length=1, pattern=r"\S")


def number_sentences(response: str, arguments: Sentences) -> str | None:
    """At least, or less than, so many sentences."""
    count = count_sentences(response)
    return compare(count, arguments.relation, arguments.num_sentences, "sentences")


def number_words(response: str, arguments: Words) -> str | None:
    """At least, or less than, so many words."""
    return compare(count_words(response), arguments.relation, arguments.num_words, "words")


def number_paragraphs(response: str, arguments: Paragraphs) -> str | None:
    """Exactly so many paragraphs with three asterisks between them; blank outer ones are none."""
    parts = [part.strip() for part in _DIVIDER.split(response)]
    if not all(parts[1:-1]):
        return "an empty paragraph between two dividers"
    count = sum(1 for part in parts if part)
    return exactly(count, arguments.num_paragraphs, "paragraphs between ***")


def first_word_of(paragraph: str) -> str:
    """The first word in small letters, without the punctuation around it."""
    word = paragraph.split()[0].lower().lstrip("'").lstrip('"')
    return _WORD_END.split(word, maxsplit=1)[0]


def nth_paragraph_first_word(response: str, arguments: FirstWord) -> str | None:
    """Exactly so many paragraphs (blank line between), and one begins with the word."""
    blocks = [block.strip() for block in response.split("\n\n")]
    count = sum(1 for block in blocks if block)
    if count != arguments.num_paragraphs:
        return exactly(count, arguments.num_paragraphs, "paragraphs")
    if arguments.nth_paragraph > count:
        return f"no paragraph {arguments.nth_paragraph}"
    # An empty block (three line breaks in a row) takes a number here and none above: officially so.
    paragraph = blocks[arguments.nth_paragraph - 1]
    if not paragraph:
        return f"paragraph {arguments.nth_paragraph} is empty"
    word = first_word_of(paragraph)
    if word == arguments.first_word.strip().lower():
        return None
    return f"paragraph {arguments.nth_paragraph} begins with {word!r}"


INSTRUCTIONS = (
    Instruction("length_constraints:number_sentences", Sentences, number_sentences),
    Instruction("length_constraints:number_paragraphs", Paragraphs, number_paragraphs),
    Instruction("length_constraints:number_words", Words, number_words),
    Instruction("length_constraints:nth_paragraph_first_word", FirstWord, nth_paragraph_first_word),
)
