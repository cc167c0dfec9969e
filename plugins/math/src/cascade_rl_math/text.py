"""Cosmetic normalisation: one spelling for what looks the same on the page.

Text in, text out; nothing here knows what a number is. Every step is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata

from cascade_rl_math.limits import Unreadable

_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad"))
#: These reorder what is shown, so what a reader sees is not what is written.
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")

#: A control character where a JSON writer meant a backslash: ``\f`` + ``rac`` was ``\frac``.
_LOST_BACKSLASH = (
    (re.compile(r"\\?\x0c(?=rac|box|loor)"), r"\\f"),
    (re.compile(r"\\?\x08(?=egin|inom|oxed|ar)"), r"\\b"),
    (re.compile(r"\t(?=imes\b|ext\{|frac)"), r"\\t"),
)

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_VULGAR = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5),
    "⅗": (3, 5), "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8),
    "⅞": (7, 8),
}  # fmt: skip
_SYMBOLS = {
    "−": "-", "–": "-", "—": "-", "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ",
    "∙": r"\cdot ", "÷": r"\div ", "∕": "/", "⁄": "/", "≤": r"\leq ", "≥": r"\geq ",
    "⩽": r"\leq ", "⩾": r"\geq ", "≠": r"\neq ", "≈": r"\approx ", "±": r"\pm ", "∓": r"\mp ",
    "∞": r"\infty ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "√": r"\sqrt ", "°": r"^\circ ",
    "π": r"\pi ", "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ",
    "θ": r"\theta ", "λ": r"\lambda ", "μ": r"\mu ", "φ": r"\phi ", "ω": r"\omega ",
    "…": r"\ldots ", "⋯": r"\ldots ", "′": "'", "’": "'", "∅": r"\emptyset ", "％": "%",
    "£": r"\$", "€": r"\$", "¥": r"\$", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ",
    "⌉": r"\rceil ", "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}",
}  # fmt: skip

_COSMETIC = (
    (re.compile(r"(?<!\\)\\\\(?=[a-zA-Z]{2})"), r"\\"),  # doubled by a careless JSON writer
    (re.compile(r"\\(?:left|right|middle|[bB]igg?[lrm]?)(?![a-zA-Z])\s*\.?"), ""),
    (re.compile(r"\\(?:displaystyle|textstyle|scriptstyle|limits|nolimits|mathstrut)\b"), ""),
    (re.compile(r"\\[dtc]frac(?![a-zA-Z])"), r"\\frac"),
    (re.compile(r"\\[dt]binom(?![a-zA-Z])"), r"\\binom"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"(?<!\\)\\!"), ""),
    (re.compile(r"(?<=\d)(?:\\[,;: ]|~|[\u2009\u202f\u00a0])(?=\d{3}(?!\d))"), ","),
    (re.compile(r"\\(?:quad|qquad|hspace\{[^{}]*\}|enspace|thinspace)(?![a-zA-Z])"), " "),
    (re.compile(r"(?<!\\)\\[,;: ]|~"), " "),
    (re.compile(r"\^\s*(?:\{\s*\\(?:circ|degree)\s*\}|\\(?:circ|degree)\b)"), r"\\degree "),
    (re.compile(r"(?<![\w)}\]])\*\*([^*]+)\*\*(?![\w({])"), r"\1"),  # bold, not a power
    (re.compile(r"(?<=[\w)}])\s*\*\*\s*(?=[\w({-])"), "^"),
    (re.compile(r"!=(?!=)|\\ne(?![a-zA-Z])"), r"\\neq "),
    (re.compile(r"<=|=<"), r"\\leq "),
    (re.compile(r">="), r"\\geq "),
    (re.compile(r"\bper ?cent\b"), "%"),
    (re.compile(r"\\frac\s*(\d)\s*(\d)"), r"\\frac{\1}{\2}"),
    (re.compile(r"\\frac\s*(\d)"), r"\\frac{\1}"),
    (re.compile(r"(\\frac\s*\{[^{}]*\})\s*(\d)"), r"\1{\2}"),
    (re.compile(r"\\sqrt\s*(\d)"), r"\\sqrt{\1}"),
)

_DELIMITERS = re.compile(r"(?<!\\)(?:\$\$?|\\[\[\]()])")
_SEGMENT = re.compile(r"(?<!\\)\$\$?([^$]+?)(?<!\\)\$\$?|\\\[(.+?)\\\]|\\\((.+?)\\\)", re.DOTALL)
#: "... so the final answer is 5": what follows the last such marker is the answer.
_MARKER = re.compile(r"\b(?:answer|result)s?(?:\s*(?:is|are)\b\s*[:=]?|\s*[:=])\s*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"\.\s+(?=[A-Z<])")


def normalise(text: str) -> str:
    """One line of LaTeX without delimiters, spacing and typographic variants.

    Raises ``Unreadable`` for control characters and for marks that reorder what is shown.
    """
    if _REORDERING.search(text):
        raise Unreadable("marks that reverse the reading order")
    for pattern, plain in _LOST_BACKSLASH:
        text = pattern.sub(plain, text)
    if found := _CONTROL.search(text):
        raise Unreadable(f"a control character, U+{ord(found.group()):04X}")
    text = _ascii(text.translate(_INVISIBLE))
    text = _DELIMITERS.sub(" ", _only_formula(_after_marker(text.strip())))
    for pattern, plain in _COSMETIC:
        text = pattern.sub(plain, text)
    text = " ".join(text.replace("\\newline", " ").split())
    return _without_full_stop(text)


def plain_words(text: str) -> str:
    """Letters and digits only, lower case: how two answers in words are compared."""
    text = re.sub(r"\\(?:text|mathrm|mathbf|mbox|textbf|textit)\w*", " ", text)
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def _ascii(text: str) -> str:
    text = re.sub(f"[{''.join(_SUPERSCRIPTS)}]+", lambda m: _script("^", m, _SUPERSCRIPTS), text)
    text = re.sub(f"[{''.join(_SUBSCRIPTS)}]+", lambda m: _script("_", m, _SUBSCRIPTS), text)
    return "".join(map(_plain_character, text))


def _script(mark: str, match: re.Match[str], table: dict[str, str]) -> str:
    return f"{mark}{{{''.join(table[symbol] for symbol in match.group())}}}"


def _plain_character(symbol: str) -> str:
    if symbol < "\x80":
        return symbol
    if symbol in _SYMBOLS:
        return _SYMBOLS[symbol]
    if symbol in _VULGAR:
        above, below = _VULGAR[symbol]
        return f"\\frac{{{above}}}{{{below}}}"
    if "\uff01" <= symbol <= "\uff5e" or "\U0001d400" <= symbol <= "\U0001d7ff":
        return unicodedata.normalize("NFKC", symbol)  # full-width and styled letters and digits
    return symbol


def _after_marker(text: str) -> str:
    ends = [marker.end() for marker in _MARKER.finditer(text)]
    if not ends or ends[-1] == len(text):
        return text
    return _SENTENCE_END.split(text[ends[-1] :], maxsplit=1)[0]


def _only_formula(text: str) -> str:
    # "The answer is $9$": one formula among prose is the answer. With several, keep it all.
    found = list(_SEGMENT.finditer(text))
    if len(found) != 1:
        return text
    around = text[: found[0].start()] + text[found[0].end() :]
    if "\\" in around or any(symbol.isdigit() for symbol in around):
        return text
    return next(filter(None, found[0].groups())) if _harmless(around) else text


def _harmless(prose: str) -> bool:
    # Words that take an answer back, or add another, must stay beside it.
    words = set(re.findall(r"[a-z]+", prose.casefold()))
    return not words & {"not", "or", "and", "except", "than", "no", "if", "least", "most", "but"}


def _without_full_stop(text: str) -> str:
    text = text.rstrip()
    while text.endswith((".", ",", ";", ":")) and not text.endswith("..."):
        text = text[:-1].rstrip()
    return text.removesuffix("\\").rstrip() if not text.endswith("\\\\") else text[:-2].rstrip()
