"""A gold and an answer, as texts, to a verdict: the pack's reward without its hooks.

The parent reads both sides and runs the cheap layers; only what those leave open goes to
the killable child of ``child``. Thread-safe, no signals.
"""

from __future__ import annotations

import re

from cascade_rl_math import choices, polynomial
from cascade_rl_math.child import TIME_LIMIT_S, ask, close, warm
from cascade_rl_math.equality import compare
from cascade_rl_math.layers import Layers, Verdict, cheap
from cascade_rl_math.limits import TooExpensive, Unreadable
from cascade_rl_math.reading import Ambiguous, BadGold, Read, gold_text, read_answer, read_gold
from cascade_rl_math.rules import DEFAULT, Rules
from cascade_rl_math.text import normalise, plain_words

__all__ = [
    "BadGold",
    "close",
    "compare_texts",
    "explain",
    "gold_text",
    "read_gold",
    "verify",
    "warm",
]

_WHOLE = re.compile(r"-?[1-9][0-9]{0,17}|0")
_DECIMAL_COMMA = re.compile(r"-?(?:0,\d{2,}|\d+,(?:\d{2}|\d{4,}))")
_DECIMAL_POINT = re.compile(r"-?\d+\.\d+")


def verify(
    gold: str, answer: str, time_limit_s: float = TIME_LIMIT_S, rules: Rules = DEFAULT
) -> Verdict:
    """Whether ``answer`` equals ``gold``; the layer that decided is in the verdict.

    Raises ``BadGold`` where no answer could be judged. A gold too large to evaluate is
    compared as text. Never raises for what the answer holds.
    """
    if _WHOLE.fullmatch(gold) and _WHOLE.fullmatch(answer) and rules == DEFAULT:
        same = gold == answer
        return Verdict(same, "text" if same else "exact number")
    written, gold = gold, gold_text(gold)
    if gold.strip() and (written.strip() == answer.strip() or _same_words(gold, answer)):
        return Verdict(True, "text")
    if (chosen := _choice(gold, answer, rules)) is not None:
        return Verdict(chosen, "choice letter")
    try:
        ours = read_gold(gold)
    except BadGold:
        if _same_formula(gold, answer):
            return Verdict(True, "text")
        raise
    try:
        theirs = read_answer(answer)
    except TooExpensive as error:
        return Verdict(False, f"too_expensive: {error}")
    except Ambiguous as error:
        return Verdict(False, str(error))
    except Unreadable as error:
        return Verdict(False, f"unparsed: {error}")
    if ours is None:
        return Verdict(False, "text, the gold is too large to evaluate")
    polynomial.allow_work()
    verdict = _compare(ours, theirs, cheap(rules))
    return verdict if verdict.equal is not None else ask(gold, answer, rules, time_limit_s)


def explain(verdict: Verdict) -> str:
    """A verdict that is not equal, as a reason to read."""
    named = verdict.layer.startswith(("too_expensive", "unparsed", "ambiguous"))
    return verdict.layer if named else f"unequal: {verdict.layer}"


def compare_texts(gold: str, answer: str, layers: Layers) -> Verdict:
    """Both sides read afresh and compared with the layers given: what the child runs."""
    ours = read_gold(gold)
    assert ours is not None
    polynomial.allow_work()
    verdict = _compare(ours, read_answer(answer), layers)
    return verdict if verdict.equal is not None else Verdict(False, "no layer shows them equal")


def _same_words(gold: str, answer: str) -> bool:
    return gold.strip() == answer.strip() or plain_words(gold) == plain_words(answer) != ""


def _same_formula(gold: str, answer: str) -> bool:
    """Whether two texts that nobody can read look the same on the page."""
    try:
        return normalise(gold) == normalise(answer) != ""
    except Unreadable:
        return False


def _choice(gold: str, answer: str, rules: Rules) -> bool | None:
    """A verdict where gold and answer both name a letter, else None."""
    ours = choices.letter(gold, rules.choices)
    if ours is None:
        if rules.choices and (several := choices.letters(gold)):
            return several == choices.letters(answer)
        return None
    theirs = choices.letter(answer, rules.choices)
    return None if theirs is None else ours == theirs


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
