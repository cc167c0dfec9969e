"""A gold and an answer, as texts, to a verdict: the pack's reward without its hooks.

The parent reads both sides and runs the cheap layers; only what those leave open goes to
the child of ``symbolic``, which is killed at the time limit. Thread-safe, no signals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cascade_rl.workers import CallFailed, CallPool, WorkerDied, WorkerTimeout
from cascade_rl_math.compare import compare
from cascade_rl_math.extract import last_box
from cascade_rl_math.layers import CHEAP, Layers, Verdict
from cascade_rl_math.lex import readings
from cascade_rl_math.limits import TooExpensive, Unreadable, check_text
from cascade_rl_math.nodes import Node, Words
from cascade_rl_math.structure import read
from cascade_rl_math.text import normalise, plain_words

#: Seconds that the dear layers may take over one comparison.
TIME_LIMIT_S = 1.0
_MOST_WORDS = 2
_DECIMAL_COMMA = re.compile(r"-?(?:0,\d{2,}|\d+,(?:\d{2}|\d{4,}))")
_DECIMAL_POINT = re.compile(r"-?\d+\.\d+")

_pool = CallPool("cascade_rl_math.symbolic:serve")


class BadGold(Exception):
    """The ground truth is not an answer that this pack can compare with."""


@dataclass(frozen=True)
class Read:
    """One side, read: its normalised text and what it may stand for."""

    text: str
    nodes: tuple[Node, ...]


def verify(gold: str, answer: str, time_limit_s: float = TIME_LIMIT_S) -> Verdict:
    """Whether ``answer`` equals ``gold``; the layer that decided is in the verdict.

    Raises ``BadGold`` where no answer could be judged. A gold too large to evaluate is
    compared as text. Never raises for what the answer holds.
    """
    gold = gold_text(gold)
    if gold.strip() and _same_text(gold, answer):
        return Verdict(True, "text")
    ours = read_gold(gold)
    try:
        theirs = _read(answer)
    except TooExpensive as error:
        return Verdict(False, f"too_expensive: {error}")
    except Unreadable as error:
        return Verdict(False, f"unparsed: {error}")
    if ours is None:
        return Verdict(False, "text, the gold is too large to evaluate")
    verdict = _compare(ours, theirs, CHEAP)
    return verdict if verdict.equal is not None else _in_child(gold, answer, time_limit_s)


def explain(verdict: Verdict) -> str:
    """A verdict that is not equal, as a reason to read."""
    named = verdict.layer.startswith(("too_expensive", "unparsed"))
    return verdict.layer if named else f"unequal: {verdict.layer}"


def compare_texts(gold: str, answer: str, layers: Layers) -> Verdict:
    """Both sides read afresh and compared with the layers given: what the child runs."""
    verdict = _compare(_read(gold), _read(answer), layers)
    return verdict if verdict.equal is not None else Verdict(False, "no layer shows them equal")


def gold_text(gold: str) -> str:
    """The gold itself: the content of its last box where it has one."""
    boxed = last_box(gold).answer
    return boxed if boxed is not None else gold


def read_gold(gold: str) -> Read | None:
    """The gold, read; None where it is sound but too large to evaluate.

    Raises ``BadGold`` for an empty one, an unreadable one, and for prose of more than two
    words, which no rule could compare with.
    """
    if not gold.strip():
        raise BadGold("the ground truth is empty")
    try:
        ours = _read(gold)
    except TooExpensive:
        return None
    except Unreadable as error:
        raise BadGold(f"the ground truth {gold[:80]!r} cannot be read: {error}") from error
    for node in ours.nodes:
        if isinstance(node, Words) and len(node.text.split()) > _MOST_WORDS:
            raise BadGold(f"the ground truth {gold[:80]!r} is prose, not an answer to compare with")
    return ours


def warm(time_limit_s: float = 60.0) -> None:
    """Start the child where it is not running. Raises what ``CallPool.call`` raises."""
    _pool.call(None, time_limit_s, time_limit_s)


def close() -> None:
    """Stop the child; the next comparison that needs one starts another."""
    _pool.close()


def _same_text(gold: str, answer: str) -> bool:
    return gold.strip() == answer.strip() or _words_of(gold) == _words_of(answer) != ""


def _words_of(text: str) -> str:
    # Only for an answer that is words: x and X, 1.5 and 15, stay apart.
    words = plain_words(text[:200])
    return words if re.fullmatch(r"[^\W\d_]{2,}(?: [^\W\d_]{2,})*", words) else ""


def _read(text: str) -> Read:
    check_text(text)
    plain = normalise(text)
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


def _compare(gold: Read, answer: Read, layers: Layers) -> Verdict:
    """The best verdict over the readings: 1,234 may be one number or two."""
    if gold.text == answer.text or _same_decimal(gold.text, answer.text):
        return Verdict(True, "text")
    verdicts = [compare(ours, theirs, layers) for ours in gold.nodes for theirs in answer.nodes]
    return (
        next((verdict for verdict in verdicts if verdict.equal), None)
        or next((verdict for verdict in verdicts if verdict.equal is None), None)
        or verdicts[0]
    )


def _same_decimal(one: str, other: str) -> bool:
    """1,22 beside 1.22: a decimal comma, where two digits or more follow it."""
    comma, point = (one, other) if "," in one else (other, one)
    return bool(
        _DECIMAL_COMMA.fullmatch(comma)
        and _DECIMAL_POINT.fullmatch(point)
        and comma.replace(",", ".") == point
    )


def _in_child(gold: str, answer: str, time_limit_s: float) -> Verdict:
    warm()  # a child that cannot start is the machine's fault and is raised
    try:
        decided = _pool.call({"gold": gold, "answer": answer}, time_limit_s)
    except WorkerTimeout:
        return Verdict(False, f"too_expensive: no result within {time_limit_s:g} s")
    except WorkerDied as error:
        return Verdict(False, f"too_expensive: {error}")
    except CallFailed as error:
        return Verdict(False, f"unparsed: {error}")
    return Verdict(decided["equal"], decided["layer"])
