"""The answer that a sentence commits to: for boxes filled with prose, and replies without one.

One candidate, found by form and never by whether it can be read: what follows the last
"answer is" or "####", else what the last sentence with mathematics in it names. A sentence
that names two different values, hedges or denies names none.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from cascade_rl_math.units import is_unit
from cascade_rl_math.vocabulary import CHANGING, FUNCTIONS, LEAD_IN, NAMES

#: "the answer is", "Answer:", "####" and their like in other languages.
_MARKER = re.compile(
    r"(?:\b(?:final\s+)?(?:answer|result)s?(?:\s*(?:is|are|equals?|must be|should be|would be)\b"
    r"(?:\s+therefore\b)?\s*[:=]?|\s*[:=])"
    r"|####|答案(?:是|为)?\s*[::]?|答\s*[::]|[Rr]éponse\s+(?:finale\s+)?(?:est|:)"
    r"|[Rr]espuesta\s+(?:final\s+)?(?:es|:)|[Aa]ntwort\s*(?:ist|lautet|:)|[Rr]isposta\s*(?:è|:)"
    r"|[Rr]esposta\s*(?:é|:)|[Оо]твет\s*:?|答え[はを]?\s*[::]?|정답은?\s*:?|الجواب\s*(?:هو|:)?"
    r"|الإجابة\s*(?:هي|:)?|उत्तर\s*:?)\s*",
    re.IGNORECASE,
)
_CHAT_MARK = re.compile(r"<\|[^|>]{1,40}\|>.*", re.DOTALL)
#: Where a sentence ends; a full stop between digits or letters does not.
_SENTENCE_END = re.compile(r"(?<=[^.\s])\.(?=\s|$)(?!\s*[a-z(\\])|[。！？؟।]|[?!](?=\s|$)|\n\s*\n")
_LINE_END = re.compile(r"\n")
_FORMULA = re.compile(
    r"(?<!\\)\$\$(.+?)\$\$|\\\[(.+?)\\\]|(?<![\\\d])\$(?!\s*\d[\d,.]*\s)([^$\n]+?)(?<!\\)\$(?!\d)"
    r"|\\\(([^\n]+?)\\\)|\*\*([^*\n]+)\*\*",
    re.DOTALL,
)
_TEXT_COMMAND = re.compile(
    r"\\(?:text|mathrm|mbox|textbf|operatorname|begin|end|mathbb|mathbf)\s*\{[^{}]*\}"
)
_WORD = re.compile(
    r"(?<![\\A-Za-z])[^\W\d_]+['’][^\W\d_]+|(?<![\\A-Za-z])[^\W\d_]{2,}(?![^\W\d_])|[^\W\d_a-zA-Z]"
)
#: "y a 42": letters that are words of their own.
_LONE_LETTERS = re.compile(r"(?:[a-zA-Z]\s+)+(?=\d)")
_COPULA = re.compile(
    r"(?:\b(?:is|are|equals?|be|get|have|gives?|becomes|makes?)|=|:|est|ist|es|è|é|是|为|هو|है)\s*"
    r"(?:exactly|just|only|equal to|simply|therefore|thus)?\s*$"
)
#: Words that take a value back or set another beside it, wherever they stand in a sentence.
_STRONG = frozenset((
    "or", "ou", "oder", "either", "maybe", "perhaps", "peut-être", "vielleicht", "или", "أو",
    "not", "never", "isn't", "isn", "cannot", "neither", "nor", "wrong", "incorrect",
    "instead", "rather", "alternatively", "false", "undefined", "possibly", "probably", "might",
))  # fmt: skip
#: "24 is the answer", "5 is too small".
_SAID_OF_IT = re.compile(r"[\s$]*((?:is|are|was|were)\b[^.!?]*)", re.IGNORECASE)
#: ``3 + 10 = 13``: a computation is a conclusion.
_SUM = re.compile(r"[^a-zA-Z\\=]*\d[^a-zA-Z\\=]*=")
_DENIALS = frozenset((
    "pas", "nicht", "kein", "non", "ne", "не", "нет", "ليس", "नहीं", "environ", "etwa", "ungefähr",
    "aproximadamente", "plus", "moins", "mehr", "weniger", "menos", "más", "circa", "около",
))  # fmt: skip
_AROUND = " \t\n,.;:!?\"'،、，。：*`[]#"
_CONTEXT = 40
#: So many words before a value, and twice as many behind it, may change it.
_NEAR = 3
_HEDGING_SIGNS = (
    "不是",
    "或",
    "大约",
    "约为",
    "至少",
    "至多",
    "超过",
    "不到",
    "可能",
    "もしくは",
    "लगभग",
)


@dataclass(frozen=True)
class Candidate:
    """The text of the answer, or why the prose commits to none."""

    text: str | None
    reason: str = ""


@dataclass(frozen=True)
class _Piece:
    """A stretch of mathematics in a sentence, and the words right before it."""

    text: str
    before: str
    named_only: bool


def after_marker(text: str) -> str | None:
    """What follows the last "answer is", up to the end of its sentence; None without one."""
    found = list(_MARKER.finditer(text))
    while found and not _CHAT_MARK.sub("", text[found[-1].end() :]).strip(" *_.:`"):
        found.pop()
    if not found:
        return None
    rest = text[found[-1].end() :].lstrip(" *_:`\n")
    return _first_sentence(_CHAT_MARK.sub("", rest)).rstrip(" *_`")


def committed(text: str, marked_only: bool = False) -> Candidate:
    """The one value that a text in prose commits to."""
    marked = after_marker(text)
    if marked is not None:
        return _named(marked) if _has_words(marked) else Candidate(marked)
    if marked_only:
        return Candidate(None, 'no answer: no \\boxed{...} and no "the answer is" in the reply')
    sentences = [
        part for part in _SENTENCE_END.split(_CHAT_MARK.sub("", text)) if part and part.strip()
    ]
    for sentence in reversed(sentences):
        if _mathematical(sentence):
            return _named(sentence)
    return Candidate(None, "no answer: no number and no formula in the reply")


def single_formula(text: str) -> str | None:
    """The one formula among words that neither change it nor hold another number."""
    found = list(_FORMULA.finditer(text))
    if len(found) != 1:
        return None
    around = text[: found[0].start()] + text[found[0].end() :]
    if "\\" in around or "$" in around or any(symbol.isdigit() for symbol in around):
        return None
    return None if _hedged(around) else _content(found[0])


def is_prose(text: str) -> bool:
    """Whether a text holds words outside its formulas."""
    return _has_words(text) or bool(_MARKER.search(text)) or "**" in text


def is_broken(text: str) -> bool:
    """Whether an inline formula opens and is not closed on its line: a reader of Markdown
    sees the sign and no formula."""
    for line in text.replace("$$", "  ").split("\n"):
        rest = _FORMULA.sub(" ", line)
        if re.search(r"(?:^|\s)\$(?:\s|$)|\\\((?!.*\\\))|(?:^|[^\\(])\\\)", rest):
            return True
    return False


def _first_sentence(text: str) -> str:
    end = _SENTENCE_END.search(text)
    line = _LINE_END.search(text.rstrip())
    stops = [found.start() for found in (end, line) if found and found.start() > 0]
    return text[: min(stops)].strip() if stops else text.strip()


def _content(found: re.Match[str]) -> str:
    return str(next(filter(None, found.groups()))).strip()


def _has_words(text: str) -> bool:
    plain = _TEXT_COMMAND.sub("", text)
    return bool(_prose_words(plain))


def _prose_words(text: str) -> list[re.Match[str]]:
    return [
        found
        for found in _WORD.finditer(text)
        if found.group() not in FUNCTIONS and found.group().casefold() not in NAMES
    ]


def _mathematical(sentence: str) -> bool:
    return any(symbol.isdigit() for symbol in sentence) or bool(_FORMULA.search(sentence))


def _hedged(words: str, words_to_avoid: frozenset[str] = CHANGING | _STRONG | _DENIALS) -> bool:
    named = set(re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", words.casefold()))
    if any(word.endswith(("n't", "n’t")) for word in named):
        return True
    return bool(named & words_to_avoid) or any(sign in words for sign in _HEDGING_SIGNS)


def _named(sentence: str) -> Candidate:
    """The value that one sentence names."""
    pieces = _pieces(sentence)
    if not pieces:
        return Candidate(None, "no answer: no number and no formula in the sentence")
    if _hedged(_FORMULA.sub(" ", sentence), _STRONG | _DENIALS):
        return Candidate(None, "ambiguous: the sentence hedges or denies")
    values = [piece for piece in pieces if not piece.named_only] or pieces
    bold = [piece for piece in pieces if f"**{piece.text}**" in sentence]
    chosen = bold[0] if len(bold) == 1 else values[-1]
    concluded = _COPULA.search(chosen.before) or _SUM.match(chosen.text)
    alike = len({_right_side(piece.text) for piece in values}) == 1
    if not (concluded or alike or len(bold) == 1):
        return Candidate(None, f"ambiguous: {len(values)} values in the sentence")
    tail = sentence.rpartition(chosen.text)[2]
    if _hedged(" ".join(chosen.before.split()[-_NEAR:])) or _hedged(
        " ".join(_FORMULA.sub(" ", tail).split()[: 2 * _NEAR])
    ):
        return Candidate(None, "ambiguous: the words beside the value change it")
    if (said := _SAID_OF_IT.match(tail)) and not set(said[1].casefold().split()) <= LEAD_IN:
        return Candidate(None, "ambiguous: a statement about a value, not a value")
    return Candidate(chosen.text)


def _right_side(text: str) -> str:
    return re.sub(r"[\s$,*\\]", "", text.rpartition("=")[2])


def _pieces(sentence: str) -> list[_Piece]:
    """The formulas of a sentence, and its numbers outside them with the signs around."""
    pieces: list[_Piece] = []
    position = 0
    for found in _FORMULA.finditer(sentence):
        pieces += _loose(sentence, position, found.start())
        text = _content(found)
        named = not any(symbol.isdigit() for symbol in text) or bool(
            re.fullmatch(r"[a-zA-Z]\w{0,2}", text)
        )
        pieces.append(_Piece(text, sentence[position : found.start()][-_CONTEXT:], named))
        position = found.end()
    return pieces + _loose(sentence, position, len(sentence))


def _loose(sentence: str, start: int, end: int) -> list[_Piece]:
    """Stretches between words that hold a digit, each with the unit that follows it."""
    stretch = sentence[start:end]
    masked = _TEXT_COMMAND.sub(lambda match: "0" * len(match.group()), stretch)
    words = [found for found in _prose_words(masked) if not _is_unit_after_number(masked, found)]
    borders = [0, *(edge for found in words for edge in found.span()), len(stretch)]
    pieces = []
    for left, right in zip(borders[::2], borders[1::2], strict=True):
        text = _trimmed(stretch[left:right])
        if any(symbol.isdigit() for symbol in text):
            before = sentence[max(start, start + left - _CONTEXT) : start + left]
            pieces.append(_Piece(_balanced(text), before, False))
    return pieces


def _trimmed(text: str) -> str:
    """Without punctuation, vowel signs of other scripts and lone letters around it."""
    marks = {
        symbol for symbol in text if not symbol.isascii() and unicodedata.category(symbol)[0] == "M"
    }
    return _LONE_LETTERS.sub("", text.strip(_AROUND + "".join(marks)), count=1)


def _is_unit_after_number(text: str, word: re.Match[str]) -> bool:
    return is_unit(word.group()) and bool(re.search(r"[\d}$]\s*$", text[: word.start()][-4:]))


def _balanced(text: str) -> str:
    """Without brackets that open or close outside the stretch."""
    for opening, closing in (("(", ")"), ("{", "}")):
        if text.count(opening) != text.count(closing):
            text = text.strip(opening + closing)
    return text.strip()
