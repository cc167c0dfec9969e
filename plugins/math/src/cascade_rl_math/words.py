"""Words around a value: units to keep, lead-ins and qualifiers to drop, all else to refuse.

``5 \\text{ cm}`` has the unit cm; ``\\text{only } 3`` is 3; ``\\text{not } 3`` is unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cascade_rl_math.lex import Token
from cascade_rl_math.limits import Unreadable
from cascade_rl_math.vocabulary import BIG_SETS, CHANGING, LEAD_IN, QUALIFIERS, UNIT_NAMES

#: A digit that is not the power of a unit: the 7 of "or so, 7", not the 2 of cm2.
_NUMBER_IN_WORDS = re.compile(r"(?<![a-zA-Z^\d])\d|\d{2}")


def strip_words(tokens: Sequence[Token]) -> tuple[Sequence[Token], str]:
    """The tokens without the words around them, and the unit that those named.

    Words alone stay as they are. Raises ``Unreadable`` where a word changes the meaning.
    """
    if all(token.kind == "text" for token in tokens):
        return tokens, ""
    tokens = _without_qualifier(tokens)
    start = 0
    while start < len(tokens) and tokens[start].kind == "text" and not _is_label(tokens, start):
        words = _split_words(tokens[start])
        if not set(words) <= LEAD_IN:
            raise Unreadable(f"{tokens[start].value[:30]!r} before a value")
        start += 1
    end, unit = _unit_start(tokens)
    if end <= start:
        raise Unreadable("words and signs without a value")
    return tokens[start:end], unit


def _is_label(tokens: Sequence[Token], index: int) -> bool:
    following = tokens[index + 1 : index + 2]
    return any(token.kind == "rel" or token == ("op", ":") for token in following)


def _split_words(token: Token) -> list[str]:
    return re.findall(r"[^\W\d_]+", token.value.casefold())


def _unit_start(tokens: Sequence[Token]) -> tuple[int, str]:
    """Where the trailing unit begins (a word, perhaps to a power), and its known name."""
    end = len(tokens)
    names: list[str] = []
    while end > 0:
        width = _unit_width(tokens[:end])
        if not width:
            break
        names[:0] = _split_words(tokens[end - width])
        end -= width
    if end == len(tokens) or _is_value_of_relation(tokens, end):
        return len(tokens), ""
    if any(_NUMBER_IN_WORDS.search(token.value) for token in tokens[end:] if token.kind == "text"):
        raise Unreadable("a number in the words beside a value")
    if changed := set(names) & CHANGING:
        raise Unreadable(f"{min(changed)!r} beside a value")
    known = [UNIT_NAMES.get(name) or UNIT_NAMES.get(name.removesuffix("s")) for name in names]
    return end, " ".join(sorted(filter(None, known)))


def _unit_width(tokens: Sequence[Token]) -> int:
    if tokens[-1].kind == "text":
        return 1
    if len(tokens) > 2 and tokens[-3].kind == "text" and tokens[-2] == ("op", "^"):
        return 3
    braces = [token.value for token in tokens[-4:]]
    if len(tokens) > 4 and tokens[-5].kind == "text" and braces[:2] == ["^", "{"]:
        return 5
    return 0


def _is_value_of_relation(tokens: Sequence[Token], end: int) -> bool:
    """``x = \\text{even}``: the word is the value, not a unit."""
    return tokens[end - 1].kind == "rel" if end else True


def _without_qualifier(tokens: Sequence[Token]) -> Sequence[Token]:
    """Drop "for all x in R" and "for all positive integers n": they add no condition.

    A qualifier with numbers or bounds in it is a condition and is refused.
    """
    for index, token in enumerate(tokens):
        words = _split_words(token) if token.kind == "text" else []
        if index == 0 or not words or words[0] not in QUALIFIERS:
            continue
        rest = _without_set_scripts(tokens[index + 1 :])
        plain = all(each.kind in ("text", "sym") or each == ("rel", "∈") for each in rest)
        if not plain or set(words) & CHANGING - {"where"}:
            raise Unreadable("a condition beside the value")
        return tokens[:index]
    return tokens


def _without_set_scripts(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without the marks on number sets: the ``_{>0}`` of the positive rationals."""
    kept: list[Token] = []
    index = 0
    while index < len(tokens):
        kept.append(tokens[index])
        marked = tokens[index].value in BIG_SETS and index + 1 < len(tokens)
        if marked and tokens[index + 1].value in ("_", "^"):
            braced = index + 2 < len(tokens) and tokens[index + 2].value == "{"
            index += 5 if braced else 2
        index += 1
    return kept
