"""Text to tokens. A closed vocabulary: an unknown command is unreadable, never skipped."""

from __future__ import annotations

import re

from cascade_rl_math.limits import (
    MAX_TOKENS,
    MAX_WRITTEN_DIGITS,
    TooExpensive,
    Unreadable,
)
from cascade_rl_math.units import is_unit
from cascade_rl_math.vocabulary import (
    ACCENTS,
    BOLD_COMMANDS,
    COMMANDS,
    FUNCTIONS,
    LETTERS,
    LONG_WORD,
    NAMES,
    NUMBER_WORDS,
    PUNCTUATION,
    SHORT_WORDS,
    STYLE_COMMANDS,
    TEXT_COMMANDS,
    Token,
)

__all__ = ["Token", "readings", "tokenise"]

_MATRICES = "[pbBvV]?matrix\\*?|smallmatrix|array"
_ENVIRONMENT = re.compile(
    rf"(begin|end)\s*\{{\s*(?:(?P<matrix>{_MATRICES})|(?P<cases>[dr]?cases\*?)"
    r"|(?P<lines>aligned|align\*?|gathered|gather\*?|split|equation\*?|eqnarray\*?))\s*\}"
)
_COLUMNS = re.compile(r"\s*\{[clr| ]*\}")

#: Digits that go on for ever: 0.(3), 0.\overline{3}, 0.\dot{1}4\dot{2}, 0.333...
_ONE = r"\s*(?:\{\d\}|\d)"
_PERIOD = (
    r"(?:\(\d+\)|\\(?:overline|bar)\s*(?:\{\d+\}|\d)"
    rf"|\\dot{_ONE}\d*\\dot{_ONE}|\\dot{_ONE}(?!\d*\\dot))"
)
_SCAN = re.compile(
    rf"""\s*(?:
      (?P<repeating>\d*\.\d*{_PERIOD}(?:\.\.\.|\\(?:ldots|dots|cdots)(?![a-zA-Z]))?)
    | (?P<running>\d*\.\d+\s?(?:\.\.\.|\\(?:ldots|dots|cdots)(?![a-zA-Z])))
    | (?P<base>(?=[A-F]*\d)[\dA-F]+\s?_\s?(?:\d(?!\d)|\{{[^{{}}\\]*(?:\\text\{{[^{{}}]*\}}\s*)?\}}))
    | (?P<num>
        (?:[1-9]\d{{0,2}}(?:[ ,]\d{{3}})+(?![\d/])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<dots>\.\.\.)
    | (?P<command>\\(?:operatorname\*|[a-zA-Z]+|.))
    | (?P<word>[^\W\d_]+)
    | (?P<mark>[-+*/^_|&:=<>(){{}}\[\],;!%'])
    )""",
    re.VERBOSE,
)
_SCAN_LISTS = re.compile(_SCAN.pattern.replace("[ ,]", "[ ]"), re.VERBOSE)
_VALUE_BEFORE = re.compile(r"[\w)}\]] *$")
_UNIT_TEXT = re.compile(r"[a-zA-Z/ ^{}\d-]+")
_GLUED = re.compile(r"(and|or)[a-zA-Z]?")
_WORD_AFTER = re.compile(r" [^\W\d_]{2}")
_WORD_BEFORE = re.compile(r"(?<![\\a-zA-Z])[^\W\d_]{2,} $")
_THOUSANDS = re.compile(r"\d,\d{3}(?!\d)")
_SEPARATORS = re.compile(r"\b(and|or)\b|([,;:])")
_UNION_LETTER = re.compile(r"[)\]}] *U *[(\[{\\]")

Made = tuple[list[Token], int]


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


def _number(written: str, _text: str, end: int) -> Made:
    digits = sum(symbol.isdigit() for symbol in written)
    if digits > MAX_WRITTEN_DIGITS:
        raise TooExpensive(f"a number of {digits} digits, at most {MAX_WRITTEN_DIGITS} are read")
    return [Token("num", written.replace(",", "").replace(" ", "").lower())], end


def _repeating(written: str, text: str, end: int) -> Made:
    """``0.1\\overline{6}`` as the number 0.1(6)."""
    _number(written, text, end)
    plain = re.sub(r"\\(?:overline|bar|dot|ldots|dots|cdots)|[{}\s]|\.\.\.", "", written)
    if "(" in plain:
        return [Token("num", plain)], end
    head = re.split(r"\\", written, maxsplit=1)[0].strip()
    return [Token("num", f"{head}({plain[len(head) :]})")], end


def _running(written: str, text: str, end: int) -> Made:
    """``0.1666...``: a repeating decimal where the digits show a period, else a decimal."""
    _number(written, text, end)
    digits = re.match(r"\d*\.\d+", written)
    assert digits is not None
    whole, _, part = digits.group().partition(".")
    for length in range(1, len(part) // 2 + 1):
        period = part[-length:]
        times = 3 if length == 1 else 2
        if part.endswith(period * times):
            while part.endswith(period * 2):
                part = part[:-length]
            return [Token("num", f"{whole or '0'}.{part[:-length]}({period})")], end
    return [Token("num", digits.group())], end


def _base(written: str, _text: str, end: int) -> Made:
    """``43_7``, ``2A_{16}``, ``101_{two}``."""
    digits, _, script = written.replace(" ", "").partition("_")
    name = re.sub(r"\\text|[{}]", "", script).casefold()
    radix = NUMBER_WORDS.get(name, "16" if name in ("hex", "sixteen") else name)
    if not radix.isdigit():
        raise Unreadable("a subscript that is no number base")
    return [Token("base", f"{digits}_{radix}")], end


def _mark(symbol: str, _text: str, end: int) -> Made:
    return [PUNCTUATION[symbol]], end


def _dots(_dots: str, _text: str, end: int) -> Made:
    return [Token("sym", "…")], end


def _word(letters: str, text: str, end: int) -> Made:
    start = end - len(letters)
    if glued := _GLUED.fullmatch(letters):  # "and", "or", and the "or" of x=1orx=2
        joint = glued.group(1)
        return [Token("sep", joint)], start + len(joint)
    if letters == "U" and _UNION_LETTER.search(text, max(0, start - 3), end + 3):
        return [Token("op", "∪")], end
    if function := FUNCTIONS.get(letters) or FUNCTIONS.get(letters.casefold()):
        return [Token("func", function)], end
    if (low := letters.casefold()) in NAMES:
        return [Token("const", NAMES[low])], end
    long = len(letters) >= LONG_WORD or letters in SHORT_WORDS or not letters.isascii()
    if long or (len(letters) > 1 and _beside_words(text, start, end)):
        return [Token("text", letters)], end
    return [_letter(letter) for letter in letters], end


def _beside_words(text: str, start: int, end: int) -> bool:
    """Whether a run of letters has another beside it: then both are prose, not factors."""
    before = _WORD_BEFORE.search(text, max(0, start - 24), start)
    return bool(before or _WORD_AFTER.match(text, end))


def _letter(letter: str) -> Token:
    return Token("const" if letter in "ei" else "sym", letter)


def _command(command: str, text: str, end: int) -> Made:
    name = command[1:]
    if name in TEXT_COMMANDS:
        start = end - len(command)
        content, end = _braced(text, end)
        if _is_unit(content, text, start):
            return [Token("text", content.strip())], end
        return _text_tokens(content), end
    if name in STYLE_COMMANDS:
        return _styled(name, text, end)
    if name in ACCENTS:
        return _accent(name, text, end)
    if name in ("begin", "end"):
        return _environment(text, end - len(name))
    if name in FUNCTIONS:
        return [Token("func", FUNCTIONS[name])], end
    if name in LETTERS:
        return [Token("sym", name)], end
    if name in COMMANDS:
        return [COMMANDS[name]], end
    raise Unreadable(f"unknown command {command[:20]}")


def _styled(name: str, text: str, end: int) -> Made:
    start = end - len(name) - 1
    content, end = _braced(text, end, letter_will_do=True)
    content = content.strip()
    if name == "mathbb" or (name == "mathbf" and content in ("R", "Z", "N", "Q", "C")):
        return [Token("sym", f"set {content}")], end
    if name in BOLD_COMMANDS and (vector := _unit_vector(content)):
        return [vector], end
    if _is_unit(content, text, start):
        return [Token("text", content)], end
    return _text_tokens(content), end


def _is_unit(content: str, text: str, start: int) -> bool:
    """``\\text{m/s}`` behind a value: a unit there, letters for numbers elsewhere."""
    words = re.findall(r"[^\W\d_]+", content)
    if not words or not _VALUE_BEFORE.search(text, max(0, start - 9), start):
        return False
    return bool(_UNIT_TEXT.fullmatch(content)) and all(map(is_unit, words))


def _accent(name: str, text: str, end: int) -> Made:
    """An accent over capitals names a segment, an arc, an angle; else it makes a new name."""
    if name == "overset":
        _, end = _braced(text, end)
    content, end = _braced(text, end, letter_will_do=True)
    content = content.strip()
    if name in BOLD_COMMANDS and (vector := _unit_vector(content)):
        return [vector], end
    if re.fullmatch(r"[A-Z]{2,4}", content):
        return [Token("sym", letter) for letter in content], end
    if re.fullmatch(r"\\?[a-zA-Z]+(?:_\{?\w+\}?)?", content):
        return [Token("sym", f"{name} {content}")], end
    raise Unreadable(f"an accent over {content[:20]!r}")


def _unit_vector(content: str) -> Token | None:
    """``\\mathbf{i}``, ``\\hat{\\imath}``, ``\\vec{\\mathbf{k}}``."""
    plain = re.sub(r"\\(?:mathbf|boldsymbol|hat|vec|mathrm)|[{}\s\\]|math$", "", content)
    return Token("sym", f"unit {plain}") if plain in ("i", "j", "k") else None


def _text_tokens(content: str) -> list[Token]:
    """Words stay words; ``\\text{e}``, ``\\text{(C)}`` and ``\\text{5}`` are read as maths."""
    made: list[Token] = []
    for piece in _SEPARATORS.split(content):
        if piece is None or not (stripped := piece.strip()):
            continue
        if stripped in ("and", "or", ",", ";"):
            made.append(Token("sep", stripped))
        elif stripped in ("degrees", "degree"):
            made.append(Token("post", "°"))
        elif stripped.casefold() in FUNCTIONS or _holds_maths(stripped):
            made.extend(tokenise(stripped))
        elif stripped.casefold() in NAMES:
            made.append(Token("const", NAMES[stripped.casefold()]))
        else:
            made.append(Token("text", stripped))
    return made


def _holds_maths(words: str) -> bool:
    """Whether there is more than words: a number among them, or no word at all."""
    return any(map(str.isdigit, words)) or not re.search(r"[^\W\d_]{2}", words)


def _environment(text: str, start: int) -> Made:
    found = _ENVIRONMENT.match(text, start)
    if found is None:
        raise Unreadable(f"unknown environment {text[start : start + 20]!r}")
    end = found.end()
    kind = str(found.lastgroup)
    if kind == "matrix":
        if found["matrix"][0] in "vV":
            kind = "determinant"
        if found.group(1) == "begin" and (columns := _COLUMNS.match(text, end)):
            end = columns.end()
    return [Token("open" if found.group(1) == "begin" else "close", kind)], end


def _braced(text: str, position: int, letter_will_do: bool = False) -> tuple[str, int]:
    """The content of the braces that open at ``position``, and where they end."""
    while position < len(text) and text[position] == " ":
        position += 1
    if letter_will_do and position < len(text) and text[position].isalnum():
        return text[position], position + 1
    if letter_will_do and (command := re.compile(r"\\[a-zA-Z]+").match(text, position)):
        return command.group(), command.end()
    if position >= len(text) or text[position] != "{":
        raise Unreadable("a command without its braces")
    depth = 0
    for index in range(position, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return text[position + 1 : index], index + 1
    raise Unreadable("braces that never close")


_MAKERS = {
    "num": _number,
    "repeating": _repeating,
    "running": _running,
    "base": _base,
    "dots": _dots,
    "command": _command,
    "word": _word,
    "mark": _mark,
}
