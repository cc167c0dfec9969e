"""Words: counted as runs of word characters, and split as treebank tokens for capitals."""

from __future__ import annotations

import re
import unicodedata

from cascade_rl_ifeval.tokenise.sentences import split_sentences

_WORD = re.compile(r"\w+")
_JOINERS = "\u200c\u200d"

# Signs that are tokens of their own wherever they stand.
_SIGN = re.compile(r"''|[\"“”«»‘’„`;@#$%&?!*\[\](){}<>]|--+|\.{2,}|[:,](?!\d)")
_LAST_STOP = re.compile(r"(?<=[^.])\.(?=[\])}>\"'»”’\s]*\Z)")
_CLITIC = re.compile(r"(?<=[^'\s])(?:'(?:ll|LL|re|RE|ve|VE|[sSmMdD]?)|n't|N'T)(?=\s)")
_QUOTED_LETTER = re.compile(r"'(?=[^\W\dmtsdn_]\b)", re.IGNORECASE)
# Two words written as one. A sign of the first group is not part of the split.
_FUSED = re.compile(
    r"\b(can)(not)\b|\b(d)('ye)\b|\b(gim|lem)(me)\b|\b(gon|wan)(na)\b|\b(got)(ta)\b"
    r"|\b(more)('n)\b|(?<=\s)('t)(is|was)\b",
    re.IGNORECASE,
)


def count_words(text: str) -> int:
    """Runs of letters, digits and underscores: "isn't" is two.

    Marks on letters belong to the word: without that each vowel sign of a Devanagari word
    would cut it in two.
    """
    return len(_WORD.findall(text if text.isascii() else _without_marks(text)))


def _without_marks(text: str) -> str:
    return "".join(
        sign for sign in text if sign not in _JOINERS and unicodedata.category(sign)[0] != "M"
    )


def count_capital_words(text: str) -> int:
    """Tokens whose letters are all capitals: "I", "NASA", "B-52"."""
    return sum(
        1 for sentence in split_sentences(text) for word in tokens(sentence) if word.isupper()
    )


def tokens(sentence: str) -> list[str]:
    """A sentence in Penn-treebank tokens: signs and clitics stand alone ("I", "'m")."""
    text = f" {_SIGN.sub(_apart, sentence)} "
    text = _LAST_STOP.sub(_apart, text)
    text = _QUOTED_LETTER.sub(r"\g<0> ", text)
    text = _CLITIC.sub(r" \g<0> ", text)
    return _FUSED.sub(_parts, text).split()


def _apart(match: re.Match[str]) -> str:
    return f" {match.group()} "


def _parts(match: re.Match[str]) -> str:
    return " ".join(part for part in match.groups() if part)
