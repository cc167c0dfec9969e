"""Words around a value: units to keep, lead-ins and qualifiers to drop, all else to refuse.

``5 \\text{ cm}`` has the unit cm; ``\\text{only } 3`` is 3; ``\\text{not } 3`` is unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cascade_rl_math.brackets import top_level
from cascade_rl_math.lex import Token
from cascade_rl_math.limits import Unreadable
from cascade_rl_math.units import Unit, is_unit, spelled
from cascade_rl_math.vocabulary import BIG_SETS, CHANGING, LEAD_IN, QUALIFIERS, SHORT_UNITS

Tokens = Sequence[Token]

#: A digit that is not the power of a unit: the 7 of "or so, 7", not the 2 of cm2.
_NUMBER_IN_WORDS = re.compile(r"(?<![a-zA-Z^\d])\d|\d{2}")
_VERBS = frozenset(("is", "are", "was", "were", "be", "has", "does", "can"))
_MARKS = "^/*{}()-°"
_SCRIPT = r"(?:\^(?:\{-?n\}|-?n))?"
#: What units look like in the classes of ``_class_of``: km/h, m s^{-2}, \\frac{km}{h}, (units).
_UNIT = re.compile(
    rf"(?:t{_SCRIPT}(?:[/*]?t{_SCRIPT}|/s{_SCRIPT})*|f\{{t\}}\{{[ts]\}}|\(t+\)|(?<=°)C)$"
)


def strip_words(tokens: Tokens, sided: bool = False) -> tuple[Tokens, Unit | None]:
    """The tokens without the words around them, and the unit that those named.

    Words alone stay as they are, and so do (``sided``) words behind the last of several
    sides, which belong to it alone. Raises ``Unreadable`` where a word changes the meaning.
    """
    if all(token.kind == "text" for token in tokens):
        return tokens, None
    tokens = without_qualifier(tokens)
    start, ahead = _lead_in(tokens)
    if sided and any(token.kind == "rel" for token in top_level(tokens)):
        return tokens[start:], None
    end, behind = _unit_start(tokens)
    if end <= start:
        raise Unreadable("words and signs without a value")
    if ahead and behind and ahead != behind:
        raise Unreadable("two units that differ")
    return tokens[start:end], ahead or behind


def bare_unit(tokens: Tokens) -> tuple[Tokens, Unit] | None:
    """``20 m^2``, ``60 km/h``: a number and letters that may be its unit."""
    if len(tokens) < 2 or tokens[0].kind != "num":
        return None
    rest = tokens[1:]
    letters = [token for token in rest if token.kind in ("sym", "text", "const")]
    plain = all(
        token.kind in ("sym", "text")
        or token.value in ("^", "/", "{", "}")
        or token.value.isdigit()
        for token in rest
    )
    named = all(token.value in SHORT_UNITS or is_unit(token.value) for token in letters)
    if not plain or not named or rest[0].kind not in ("sym", "text"):
        return None
    unit = spelled(rest, bare=True)
    return (tokens[:1], unit) if unit else None


def _lead_in(tokens: Tokens) -> tuple[int, Unit | None]:
    """Where the value begins, and a currency named before it."""
    start, unit = 0, None
    while start < len(tokens) and tokens[start].kind == "text" and not _is_label(tokens, start):
        words = _split_words(tokens[start])
        money = spelled(tokens[start : start + 1]) if len(words) == 1 else None
        if money and not unit and start + 1 < len(tokens):
            unit = money
        elif not set(words) <= LEAD_IN:
            raise Unreadable(f"{tokens[start].value[:30]!r} before a value")
        start += 1
    return start, unit


def is_lead_in(tokens: Tokens) -> bool:
    """Whether there is nothing but words such as "therefore"."""
    words = {word for token in tokens for word in _split_words(token)}
    return bool(words) and words <= LEAD_IN and all(token.kind == "text" for token in tokens)


def _is_label(tokens: Tokens, index: int) -> bool:
    following = tokens[index + 1 : index + 2]
    return any(token.kind == "rel" or token == ("op", ":") for token in following)


def _split_words(token: Token) -> list[str]:
    return re.findall(r"[^\W\d_]+", token.value.casefold())


def _unit_start(tokens: Tokens) -> tuple[int, Unit | None]:
    """Where the trailing unit begins (words, perhaps to a power or divided), and the unit."""
    found = _UNIT.search("".join(map(_class_of, tokens)))
    if found is None or found.start() == 0 or tokens[found.start() - 1].kind == "rel":
        return len(tokens), None  # the word of x = \\text{even} is the value
    words = [token for token in tokens[found.start() :] if token.kind == "text"]
    if any(_NUMBER_IN_WORDS.search(token.value) for token in words):
        raise Unreadable("a number in the words beside a value")
    names = {name for token in words for name in _split_words(token)}
    if changed := names & CHANGING:
        raise Unreadable(f"{min(changed)!r} beside a value")
    if names & _VERBS and not names <= LEAD_IN:
        raise Unreadable("a statement about a value, not a value")
    unit = list(tokens[found.start() :])
    if unit[0].value == "frac":  # \\frac{km}{h}
        unit = [unit[2], Token("op", "/"), unit[5]]
    return found.start(), spelled(unit)


def _class_of(token: Token) -> str:
    """One letter for a token, so that the grammar of units is a regular expression."""
    if token.kind == "text":
        return "t"
    if token.kind == "num":
        return "n"
    if token.value in ("frac", "C"):
        return token.value[0]
    if token.value in SHORT_UNITS:
        return "s"
    return token.value if token.value in _MARKS else "."


def without_qualifier(tokens: Tokens) -> Tokens:
    """Drop "for all x in R" and "for all positive integers n": they add no condition.

    A qualifier with numbers or bounds in it is a condition and is refused.
    """
    for index, token in enumerate(tokens):
        words = _split_words(token) if token.kind == "text" else []
        if index == 0 or not words or words[0] not in QUALIFIERS:
            continue
        if not is_plain_qualifier(tokens[index + 1 :]) or set(words) & CHANGING - {"where", "any"}:
            raise Unreadable("a condition beside the value")
        return tokens[:index]
    return tokens


def is_plain_qualifier(tokens: Tokens) -> bool:
    """``x in R``, ``k in Z``, words: nothing that bounds or excludes a value."""
    rest = _without_set_scripts(tokens)
    return all(
        each.kind in ("text", "sym", "const", "sep", "open", "close")
        or each in (("rel", "∈"), ("op", ":"))
        for each in rest
    )


def is_membership(tokens: Tokens) -> bool:
    """``k in Z`` alone, in brackets or not: what says which values a parameter takes."""
    if len(tokens) > 2 and tokens[0] == ("open", "(") and tokens[-1] == ("close", ")"):
        tokens = tokens[1:-1]
    rest = _without_set_scripts(tokens)
    whole = rest[2:3] in ([Token("sym", "Z")], [Token("sym", "N")])
    return (
        len(rest) >= 3
        and rest[0].kind == "sym"
        and rest[1] == ("rel", "∈")
        and (rest[2].value in BIG_SETS or whole)
        and all(token.kind == "text" for token in rest[3:])
    )


def _without_set_scripts(tokens: Tokens) -> list[Token]:
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
