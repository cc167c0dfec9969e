"""Texts to nodes: the two sides of a comparison, read whole or not at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from cascade_rl_math import prose
from cascade_rl_math.extract import last_box, unclosed_box
from cascade_rl_math.lex import readings
from cascade_rl_math.limits import TooExpensive, Unreadable, check_text
from cascade_rl_math.nodes import Clock, Node, Words
from cascade_rl_math.structure import read
from cascade_rl_math.text import normalise, visible
from cascade_rl_math.vocabulary import PHRASES

_MOST_WORDS = 2
_TIME = re.compile(
    r"(\d{1,2})(?:\s*:\s*(\d\d))?\s*(?:\\(?:text|mathrm)\s*\{\s*)?([aApP])\.?\s*[mM]\.?\s*\}?"
)


class BadGold(Exception):
    """The ground truth is not an answer that this pack can compare with."""


class Ambiguous(Exception):
    """A sentence that commits to no single value."""


@dataclass(frozen=True)
class Read:
    """One side, read: its normalised text and what it may stand for."""

    text: str
    nodes: tuple[Node, ...]


def gold_text(gold: str) -> str:
    """The gold itself: the content of its last box where it has one."""
    boxed = last_box(gold).answer or unclosed_box(gold)
    return boxed if boxed is not None else gold


@lru_cache(maxsize=128)
def read_gold(gold: str) -> Read | None:
    """The gold, read; None where it is sound but too large to evaluate.

    Raises ``BadGold`` for an empty one, an unreadable one, and for prose of more than two
    words, which no rule could compare with.
    """
    if not gold.strip():
        raise BadGold("the ground truth is empty")
    try:
        ours = _read_gold(gold)
    except TooExpensive:
        return None
    except Unreadable as error:
        raise BadGold(f"the ground truth {gold[:80]!r} cannot be read: {error}") from error
    for node in ours.nodes:
        wordy = isinstance(node, Words) and len(node.text.split()) > _MOST_WORDS
        if isinstance(node, Words) and wordy and node.text not in PHRASES:
            raise BadGold(f"the ground truth {gold[:80]!r} is prose, not an answer to compare with")
    return ours


def _check_formulas(text: str) -> None:
    if "\n" in text and prose.is_broken(text):
        raise Unreadable("a formula that is not closed on its line")


def _read_gold(gold: str) -> Read:
    _check_formulas(gold)
    try:
        return read_whole(gold)
    except Unreadable:
        # Only an explicit commitment: a gold is data, and a guess would poison a run.
        visible(gold)
        inner = prose.after_marker(gold) or prose.single_formula(gold)
        if inner is None:
            raise
        return read_whole(inner)


def read_answer(answer: str) -> Read:
    """An answer, read whole; prose is asked for the one value that it commits to.

    Raises ``Unreadable``, ``Ambiguous`` and ``TooExpensive``.
    """
    boxed = last_box(answer).answer
    if boxed is not None:
        answer = boxed
    check_text(answer)
    visible(answer)
    _check_formulas(answer)
    try:
        return read_whole(answer)
    except Unreadable as error:
        candidate = prose.committed(answer) if prose.is_prose(answer) else None
        if candidate is None or candidate.text == answer:
            raise
        if candidate.text is None:
            if candidate.reason.startswith("ambiguous"):
                raise Ambiguous(candidate.reason) from error
            raise
        return read_whole(candidate.text)


def read_whole(text: str) -> Read:
    """The nodes of a text all of which is read. Raises ``Unreadable``, ``TooExpensive``."""
    check_text(text)
    plain = normalise(text)
    if clock := _time_of_day(plain):
        return Read(plain, (clock,))
    nodes: list[Node] = []
    failure: Unreadable | None = None
    for tokens in readings(plain):
        try:
            nodes.append(read(tokens))
        except Unreadable as error:
            failure = failure or error
    if not nodes:
        raise failure or Unreadable("nothing is written")
    return Read(plain, tuple(nodes))


def _time_of_day(text: str) -> Clock | None:
    """``3:45 p.m.`` and ``9 am``."""
    found = _TIME.fullmatch(text)
    if found is None or int(found[1]) > 24:
        return None
    return Clock(int(found[1]), int(found[2] or 0), found[3].casefold() + "m")
