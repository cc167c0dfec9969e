"""Cosmetic normalisation: one spelling for what looks the same on the page.

Text in, text out; nothing here knows what a number is. Every step is linear in the text,
or bounded. Prose is left alone: finding the answer in a sentence is the work of ``prose``.
"""

from __future__ import annotations

import re

from cascade_rl_math.glyphs import to_latex
from cascade_rl_math.limits import Unreadable

_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\ufeff\u00ad"))
#: These reorder what is shown, so what a reader sees is not what is written.
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")

#: A control character where a JSON writer meant a backslash: ``\f`` + ``rac`` was ``\frac``.
_LOST_BACKSLASH = (
    (re.compile(r"\\?\x0c(?=rac|box|loor|orall)"), r"\\f"),
    (re.compile(r"\\?\x08(?=egin|inom|oxed|ar\b|eta\b)"), r"\\b"),
    (re.compile(r"\t(?=imes\b|ext\{|frac|heta\b|an\b)"), r"\\t"),
    (re.compile(r"\r(?=ight\b|ho\b)"), r"\\r"),
)

_SIZES = "left|right|middle|[bB]igg?[lrm]?"
_NOTHING = (
    "displaystyle|textstyle|scriptstyle|scriptscriptstyle|limits|nolimits|displaylimits|mathstrut"
    "|strut|nonumber|notag|hline|allowbreak|nobreak|relax|protect|bf|rm|it|sf|tt|large|Large|LARGE"
    "|small|normalsize|huge|Huge|tiny|footnotesize|scriptsize|centering|noindent|newline|hfill"
)
_WITH_ARGUMENT = r"color|hspace|vspace|phantom|hphantom|vphantom|label|tag|textcolor|cline"
_UNWRAPPED = r"mathbin|mathrel|mathop|mathopen|mathclose|mathord|mathpunct|underline|ensuremath"

#: (what must occur for the rule to apply, pattern, replacement)
_COSMETIC = tuple(
    (sign, re.compile(pattern), plain)
    for sign, pattern, plain in (
        ("\\\\", r"(?<!\\)\\\\(?=[a-zA-Z]{2})", r"\\"),  # doubled by a careless JSON writer
        ("\\", rf"\\(?:{_SIZES})(?![a-zA-Z])\s*\.?", ""),
        ("\\", rf"\\(?:{_NOTHING})(?![a-zA-Z])\*?", " "),
        ("\\", rf"\\(?:{_WITH_ARGUMENT})\*?\s*\{{[^{{}}]*\}}", " "),
        ("\\", rf"\\(?:{_UNWRAPPED})\s*\{{([^{{}}]*)\}}", r"\1"),
        ("frac", r"\\(?:[dtc]frac|nicefrac|sfrac|xfrac)(?![a-zA-Z])", r"\\frac"),
        ("binom", r"\\[dt]binom(?![a-zA-Z])", r"\\binom"),
        ("{", r"(?<![\\_^a-zA-Z])\{([-+,.:=/<>])\}", r"\1"),
        ("{", r"(?<=\d)\s*\{\s*,\s*\}\s*(?=\d)", ","),
        ("\\!", r"(?<!\\)\\!", ""),
        ("\\", r"(?<=\d)\\[,;: ](?=\d{3}(?!\d))", ","),
        ("~", r"(?<=\d)~(?=\d{3}(?!\d))", ","),
        ("\\", r"\\(?:qquad|quad|enspace|thinspace|enskip)(?![a-zA-Z])", " "),
        ("\\", r"(?<!\\)\\[,;:> /]", " "),
        ("~", r"(?<!^)~", " "),
        ("\\", r"\^\s*(?:\{\s*\\(?:circ|degree)\s*\}|\\(?:circ|degree)\b)", r"\\degree "),
        ("^", r"(?<=\d)\s*\^\s*(?:\{\s*[oO]\s*\}|[oO](?![a-zA-Z]))", r"\\degree "),
        ("**", r"(?<=[\w)}\]])\s*\*\*\s*(?=[\w({\\-])", "^"),
        ("!=", r"!=(?!=)", r"\\neq "),
        ("\\", r"\\ne(?![a-zA-Z])|\\not\s*=", r"\\neq "),
        ("<", r"<=|=<", r"\\leq "),
        (">", r">=", r"\\geq "),
        ("==", r"==+", "="),
        ("cent", r"\bper ?cent\b", "%"),
        ("deg", r"(?<=\d)\s*(?:degrees?|deg)\b(?! [CF]\b)", r"\\degree "),
        ("10", r"(?<=\d)\s*[xX]\s*(?=10\s*\^)", r"\\times "),
        ("frac", r"\\frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}"),
        ("frac", r"\\frac\s*(\d)", r"\\frac{\1}"),
        ("frac", r"(\\frac\s*\{[^{}]*\})\s*(\d)", r"\1{\2}"),
        ("sqrt", r"\\sqrt\s*(\d)", r"\\sqrt{\1}"),
        ("mod", r"\(\s*(?:\\(?:bmod|mod|pmod)|\\text\s*\{\s*mod\s*\}|mod)\s+([^()]*)\)",
         r"\\pmod{\1}"),
        ("_", r"(?:\\text\s*\{|\()([\dA-F]*\d[\dA-F]*)[)}]\s*_", r"\1_"),
        ("to", r"^(\d+)\s*(?:\\text\s*\{\s*to\s*\}|to)\s*(\d+)$", r"\1:\2"),
        ("mapsto", r"^\s*([a-zA-Z])\s*:\s*([a-z])\s*\\mapsto(?![a-zA-Z])", r"\1(\2)="),
        ("^", r"\^\s*(?:\{\s*\}\s*)?$|\^\{\s*\}", " "),  # a script that shows nothing
        ("_", r"_\s*(?:\{\s*\}\s*)?$|_\{\s*\}", " "),
    )
)  # fmt: skip

_PLAIN_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_DIGIT_SPACE = re.compile(r"(?<=\d)[\u2009\u202f\u00a0](?=\d{3}(?!\d))")
_WIDE_SPACE = re.compile(r"[\u2000-\u200a\u202f\u00a0\u3000]")
_DELIMITERS = re.compile(r"(?<!\\)(?:\$\$?|\\[\[\]()])")
_BOLD = re.compile(r"(?<![\w)}\]*])(\*\*|__|`)([^*`]+)\1(?![\w({*])")
_ITALIC = re.compile(r"\*([^*\s]+)\*")
_SYSTEM = re.compile(r"\\left\s*\\(?:\{|lbrace)\s*\\begin\s*\{(array|aligned|matrix|gathered)\}")
_OUTWARD = re.compile(r"([\[\]])([^\[\](){}]+[,;][^\[\](){}]+)([\[\]])")


def normalise(text: str) -> str:
    """One line of LaTeX without delimiters, spacing and typographic variants.

    Raises ``Unreadable`` for control characters and for marks that reorder what is shown.
    """
    if _PLAIN_NUMBER.fullmatch(text):
        return text
    text = _narrow_spaces(visible(text))
    text = _one_sided_braces(_unmarked(text.strip()))
    text = _DELIMITERS.sub(" ", text)
    for sign, pattern, plain in _COSMETIC:
        if sign in text:
            text = pattern.sub(plain, text)
    return _without_full_stop(_outward_brackets(" ".join(text.split())))


def _narrow_spaces(text: str) -> str:
    """Typographic spaces: between groups of three digits, as in 1 234 567, a separator."""
    if text.isascii():
        return text
    return _WIDE_SPACE.sub(" ", _DIGIT_SPACE.sub(",", text))


def visible(text: str) -> str:
    """The text in ASCII where it can be, without invisible characters."""
    if not text.isascii() and _REORDERING.search(text):
        raise Unreadable("marks that reverse the reading order")
    if not text.isprintable():
        for pattern, plain in _LOST_BACKSLASH:
            text = pattern.sub(plain, text)
    if found := _CONTROL.search(text):
        raise Unreadable(f"a control character, U+{ord(found.group()):04X}")
    return to_latex(text.translate(_INVISIBLE))


def plain_words(text: str) -> str:
    """The words of an answer that is nothing but words, lower case; "" for any other text.

    For comparing answers in words: x and X, 1.5 and 15, pi and minus pi stay apart.
    """
    text = re.sub(
        r"\\(?:text|mathrm|mathbf|mbox|textbf|textit|textrm)\s*\{([^{}]*)\}", r" \1 ", text
    )
    text = re.sub(r"[$*.,;:!?'\"]+(?=\s|$)|^[\s$*]+", " ", text)
    words = " ".join(text.casefold().split())
    return words if re.fullmatch(r"[^\W\d_]{2,}(?:[- ][^\W\d_]+)*", words) else ""


def _unmarked(text: str) -> str:
    """Without the marks of bold, italic and code around an answer, which are no operators."""
    text = _BOLD.sub(r"\2", text)
    if whole := _ITALIC.fullmatch(text):
        return whole.group(1)
    return text


def _one_sided_braces(text: str) -> str:
    """A brace on the left of several lines, closed by an empty right side, is a system."""
    if "\\right" not in text:
        return text
    pieces, position = [], 0
    for found in _SYSTEM.finditer(text):
        end = text.find(f"\\end{{{found.group(1)}}}", found.end())
        closing = re.compile(r"\s*\\right\s*\.").match(text, end + len(found.group(1)) + 6)
        if end < 0 or closing is None or found.start() < position:
            continue
        inner = re.sub(r"^\s*\{[lcr| ]*\}", "", text[found.end() : end])
        pieces += [text[position : found.start()], f"\\begin{{cases}}{inner}\\end{{cases}}"]
        position = closing.end()
    return "".join([*pieces, text[position:]])


def _outward_brackets(text: str) -> str:
    """``]0, 1[`` is ``(0, 1)``: brackets turned outwards leave their ends out."""
    first_open, first_close = text.find("["), text.find("]")
    if first_close < 0 or (0 <= first_open < first_close and text.count("[") == text.count("]")):
        return text
    return _OUTWARD.sub(
        lambda match: "".join(
            ("(" if match[1] == "]" else "[", match[2], ")" if match[3] == "[" else "]")
        ),
        text,
    )


def _without_full_stop(text: str) -> str:
    text = text.rstrip()
    while text.endswith((".", ",", ";", ":")) and not text.endswith("..."):
        text = text[:-1].rstrip()
    if text.endswith("\\\\"):
        return text[:-2].rstrip()
    return text.removesuffix("\\").rstrip()
