"""Reading an output token by token, with the strictness of testlib's streams."""

from __future__ import annotations

import math
import re

from cascade_rl_code.verdicts import Verdict

_BLANKS = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"[^ \t\r\n]+")
_LINE = re.compile(r"[^\r\n]*")
_END = re.compile(r"\r\n|\r|\n")
_INTEGER = re.compile(r"-?[1-9][0-9]{0,18}|0")
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MAX_REAL = 4096  # characters


class Stop(Exception):
    """A checker has come to its verdict."""

    def __init__(self, verdict: Verdict, message: str) -> None:
        super().__init__(message)
        self.verdict, self.message = verdict, message


class Stream:
    """A text and a place in it. What cannot be read ends the check with the verdict ``fault``.

    Bytes are read as Latin-1, so that every output is text and equal text is equal bytes.
    """

    def __init__(self, text: bytes, fault: Verdict) -> None:
        self._text = text.decode("latin-1")
        self._at = 0
        self._fault = fault

    def bad(self, wanted: str) -> Stop:
        """The end of a check that expected something else here."""
        whose = "answer" if self._fault is Verdict.JUDGE_FAIL else "output"
        return Stop(self._fault, f"{wanted} expected in the {whose}")

    def eof(self) -> bool:
        """Whether nothing at all is left."""
        return self._at >= len(self._text)

    def seek_eof(self) -> bool:
        """Whether nothing but blanks is left; skips them."""
        match = _BLANKS.match(self._text, self._at)
        assert match is not None  # the pattern matches the empty text
        self._at = match.end()
        return self.eof()

    def word(self) -> str:
        """The next word; blanks before it are skipped."""
        if self.seek_eof():
            raise self.bad("a word")
        match = _WORD.match(self._text, self._at)
        assert match is not None  # seek_eof stopped before a character that is no blank
        self._at = match.end()
        return match[0]

    def expect(self, word: str) -> None:
        """Read one word, which must be this one."""
        if self.word() != word:
            raise self.bad(word)

    def line(self) -> str:
        """The rest of the line, without its end."""
        if self.eof():
            raise self.bad("a line")
        match = _LINE.match(self._text, self._at)
        assert match is not None  # the pattern matches the empty text
        end = _END.match(self._text, match.end())
        self._at = end.end() if end else match.end()
        return match[0]

    def int32(self) -> int:
        """An integer of 32 bits, without leading zeros or plus."""
        return self._ranged(self.word(), 31)

    def int64(self) -> int:
        """An integer of 64 bits, without leading zeros or plus."""
        return self.to_int64(self.word())

    def to_int64(self, word: str) -> int:
        """This word as an integer of 64 bits."""
        return self._ranged(word, 63)

    def double(self) -> float:
        """A decimal number; neither NaN nor "inf", though 1e999 overflows to infinity."""
        word = self.word()
        if len(word) > _MAX_REAL or not _REAL.fullmatch(word):
            raise self.bad("a number")
        number = float(word)
        if math.isnan(number):
            raise self.bad("a number")
        return number

    def _ranged(self, word: str, bits: int) -> int:
        if not _INTEGER.fullmatch(word) or not -(1 << bits) <= int(word) < (1 << bits):
            raise self.bad(f"an integer of {bits + 1} bits")
        return int(word)
