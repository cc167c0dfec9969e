"""Text to tokens. A closed vocabulary: an unknown command is unreadable, never skipped."""

from __future__ import annotations

import re

from cascade_rl_math.limits import (
    MAX_TOKENS,
    MAX_WRITTEN_DIGITS,
    TooExpensive,
    Unreadable,
)
from cascade_rl_math.vocabulary import (
    COMMANDS,
    FUNCTIONS,
    LETTERS,
    LONG_WORD,
    NAMES,
    PUNCTUATION,
    SHORT_UNITS,
    SHORT_WORDS,
    STYLE_COMMANDS,
    TEXT_COMMANDS,
    Token,
)

__all__ = ["Token", "readings", "tokenise"]


_MATRIX = re.compile(r"(begin|end)\s*\{\s*(?:[pbB]?matrix|smallmatrix|array)\s*\}")

_SCAN = re.compile(
    r"""\s*(?:
      (?P<num>
        (?:[1-9]\d{0,2}(?:[ ,]\d{3})+(?![\d/])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<dots>\.\.\.)
    | (?P<command>\\(?:[a-zA-Z]+|.))
    | (?P<word>[^\W\d_]+)
    | (?P<mark>[-+*/^_|&:=<>(){}\[\],;!%'])
    )""",
    re.VERBOSE,
)
_SCAN_LISTS = re.compile(_SCAN.pattern.replace("[ ,]", "[ ]"), re.VERBOSE)
_NUMBER_BEFORE = re.compile(r"[\d}] *$")
_GLUED = re.compile(r"(and|or)[a-zA-Z]?")
_WORD_AFTER = re.compile(r" [^\W\d_]{2}")
_WORD_BEFORE = re.compile(r"(?<![\\a-zA-Z])[^\W\d_]{2,} $")
_THOUSANDS = re.compile(r"\d,\d{3}(?!\d)")


def readings(text: str) -> list[list[Token]]:
    """The token lists that a normalised text stands for: two where ``1,234`` may be one
    number or a list of two.

    Raises ``Unreadable`` and ``TooExpensive``.
    """
    first = tokenise(text)
    if not _THOUSANDS.search(text):
        return [first]
    second = tokenise(text, commas_group_digits=False)
    return [first] if first == second else [first, second]


def tokenise(text: str, commas_group_digits: bool = True) -> list[Token]:
    """The tokens of a normalised text."""
    scan = _SCAN if commas_group_digits else _SCAN_LISTS
    tokens: list[Token] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        found = scan.match(text, position)
        if found is None:
            raise Unreadable(f"cannot read {text[position : position + 12]!r}")
        kind = found.lastgroup or ""
        made, position = _MAKERS[kind](found.group(kind), text, found.end())
        tokens.extend(made)
        if len(tokens) > MAX_TOKENS:
            raise TooExpensive(f"more than {MAX_TOKENS} symbols")
    return tokens


def _number(written: str, _text: str, end: int) -> tuple[list[Token], int]:
    digits = sum(symbol.isdigit() for symbol in written)
    if digits > MAX_WRITTEN_DIGITS:
        raise TooExpensive(f"a number of {digits} digits, at most {MAX_WRITTEN_DIGITS} are read")
    return [Token("num", written.replace(",", "").replace(" ", "").lower())], end


def _mark(symbol: str, _text: str, end: int) -> tuple[list[Token], int]:
    return [PUNCTUATION[symbol]], end


def _dots(_dots: str, _text: str, end: int) -> tuple[list[Token], int]:
    return [Token("sym", "…")], end


def _word(letters: str, text: str, end: int) -> tuple[list[Token], int]:
    if glued := _GLUED.fullmatch(letters):  # "and", "or", and the "or" of x=1orx=2
        joint = glued.group(1)
        return [Token("sep", joint)], end - len(letters) + len(joint)
    low = letters.casefold()
    if low in FUNCTIONS:
        return [Token("func", low)], end
    if low in NAMES:
        return [Token("const", NAMES[low])], end
    long = len(letters) >= LONG_WORD or letters in SHORT_WORDS or not letters.isascii()
    if long or (len(letters) > 1 and _beside_words(text, end - len(letters), end)):
        return [Token("text", letters)], end
    return [_letter(letter) for letter in letters], end


def _beside_words(text: str, start: int, end: int) -> bool:
    """Whether a run of letters has another beside it: then both are prose, not factors."""
    before = _WORD_BEFORE.search(text, max(0, start - 24), start)
    return bool(before or _WORD_AFTER.match(text, end))


def _letter(letter: str) -> Token:
    return Token("const" if letter in "ei" else "sym", letter)


def _command(command: str, text: str, end: int) -> tuple[list[Token], int]:
    name = command[1:]
    if name == "$":
        return [], end
    if name in TEXT_COMMANDS:
        start = end - len(command)
        content, end = _braced(text, end)
        if content.strip() in SHORT_UNITS and _NUMBER_BEFORE.search(text, max(0, start - 9), start):
            return [Token("text", content.strip())], end
        return _text_tokens(content), end
    if name in STYLE_COMMANDS:
        return _styled(name, *_braced(text, end))
    if name in ("begin", "end"):
        return _environment(text, end - len(name))
    if name in FUNCTIONS:
        return [Token("func", name)], end
    if name in LETTERS:
        return [Token("sym", name)], end
    if name in COMMANDS:
        return [COMMANDS[name]], end
    raise Unreadable(f"unknown command {command[:20]}")


def _styled(name: str, content: str, end: int) -> tuple[list[Token], int]:
    if name == "mathbb":
        return [Token("sym", f"set {content.strip()}")], end
    return _text_tokens(content), end


def _text_tokens(content: str) -> list[Token]:
    """Words stay words; ``\\text{e}``, ``\\text{(C)}`` and ``\\text{5}`` are read as maths."""
    made: list[Token] = []
    for piece in re.split(r"\b(and|or)\b|([,;])", content):
        if piece is None or not piece.strip():
            continue
        stripped = piece.strip()
        if stripped in ("and", "or", ",", ";"):
            made.append(Token("sep", stripped))
        elif stripped.casefold() in FUNCTIONS or not re.search(r"[^\W\d_]{2}", stripped):
            made.extend(tokenise(stripped))
        else:
            made.append(Token("text", stripped))
    return made


def _environment(text: str, start: int) -> tuple[list[Token], int]:
    found = _MATRIX.match(text, start)
    if found is None:
        raise Unreadable(f"unknown environment {text[start : start + 20]!r}")
    end = found.end()
    if found.group(1) == "begin" and (columns := re.compile(r"\s*\{[clr| ]*\}").match(text, end)):
        end = columns.end()
    return [Token("open" if found.group(1) == "begin" else "close", "matrix")], end


def _braced(text: str, position: int) -> tuple[str, int]:
    """The content of the braces that open at ``position``, and where they end."""
    while position < len(text) and text[position] == " ":
        position += 1
    if position >= len(text) or text[position] != "{":
        raise Unreadable("a command without its braces")
    depth = 0
    for index in range(position, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return text[position + 1 : index], index + 1
    raise Unreadable("braces that never close")


_MAKERS = {"num": _number, "dots": _dots, "command": _command, "word": _word, "mark": _mark}
