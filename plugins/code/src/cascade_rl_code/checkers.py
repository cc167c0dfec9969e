"""The standard testlib checkers by name, with testlib's verdicts, in Python.

They judge outside the sandbox: plain functions of two byte strings, with no limit to meet
but the output's size. Checkers with a source of their own are in ``programs``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable

from cascade_rl_code.streams import Stop, Stream
from cascade_rl_code.verdicts import Judged, Verdict

_Check = Callable[[Stream, Stream], None]
_DECISIONS = {"YES", "NO"}
_HUGE = re.compile(r"0|-?[1-9][0-9]*")


def run_checker(name: str, stdout: bytes, answer: bytes) -> Judged:
    """The verdict of the checker called ``name`` (a key of ``CHECKERS``).

    An accepted output must hold nothing more than the checker read, as in testlib. An
    ``answer`` that the checker cannot read is JUDGE_FAIL.
    """
    out, ans = Stream(stdout, Verdict.PE), Stream(answer, Verdict.JUDGE_FAIL)
    try:
        CHECKERS[name](out, ans)
    except Stop as stop:
        return Judged(stop.verdict, stop.message)
    if not out.seek_eof():
        return Judged(Verdict.PE, "more output than expected")
    return Judged(Verdict.AC)


def _wrong(what: str) -> Stop:
    return Stop(Verdict.WA, what)


def _words(out: Stream, ans: Stream) -> None:
    number = 0
    while not ans.seek_eof() and not out.seek_eof():
        number += 1
        if ans.word() != out.word():
            raise _wrong(f"word {number} differs")
    if not ans.seek_eof():
        raise _wrong("fewer words than expected")
    if not out.seek_eof():
        raise _wrong("more words than expected")


def _lines(same: Callable[[str, str], bool]) -> _Check:
    def check(out: Stream, ans: Stream) -> None:
        number = 0
        while not ans.eof():
            wanted = ans.line()
            if not wanted and ans.eof():
                break
            number += 1
            if not same(wanted, out.line()):
                raise _wrong(f"line {number} differs")

    return check


def _same_words(one: str, other: str) -> bool:
    # as bytes: white space is ASCII's, whatever Latin-1 holds
    return one.encode("latin-1").split() == other.encode("latin-1").split()


def _integer(out: Stream, ans: Stream) -> None:
    if ans.int32() != out.int32():
        raise _wrong("the number differs")


def _integers(out: Stream, ans: Stream) -> None:
    number = 0
    while not ans.seek_eof() and not out.seek_eof():
        number += 1
        if ans.int64() != out.int64():
            raise _wrong(f"number {number} differs")
    _same_length(out, ans, lambda stream: stream.int64())


def _same_length(out: Stream, ans: Stream, read: Callable[[Stream], object]) -> None:
    for stream, what in ((ans, "fewer"), (out, "more")):
        left = 0
        while not stream.seek_eof():
            read(stream)
            left += 1
        if left:
            raise _wrong(f"{left} {what} than expected")


def _unordered(out: Stream, ans: Stream) -> None:
    wanted, found = _rest(ans), _rest(out)
    if len(wanted) != len(found):
        raise _wrong(f"{len(found)} numbers instead of {len(wanted)}")
    if Counter(wanted) != Counter(found):
        raise _wrong("other numbers")


def _rest(stream: Stream) -> list[int]:
    numbers = []
    while not stream.seek_eof():
        numbers.append(stream.int64())
    return numbers


def _within(error: float) -> Callable[[float, float], bool]:
    return lambda wanted, found: abs(wanted - found) <= error


def close(error: float) -> Callable[[float, float], bool]:
    """Equal within an absolute or relative error; infinities equal themselves."""

    def same(wanted: float, found: float) -> bool:
        if math.isinf(wanted) or math.isinf(found):
            return wanted == found
        if abs(found - wanted) <= error + 1e-15:
            return True
        bounds = (wanted * (1.0 - error), wanted * (1.0 + error))
        return min(bounds) - 1e-15 <= found <= max(bounds) + 1e-15

    return same


def _real(same: Callable[[float, float], bool]) -> _Check:
    def check(out: Stream, ans: Stream) -> None:
        if not same(ans.double(), out.double()):
            raise _wrong("the number differs")

    return check


def _reals(same: Callable[[float, float], bool]) -> _Check:
    def check(out: Stream, ans: Stream) -> None:
        number = 0
        while not ans.seek_eof():
            number += 1
            if not same(ans.double(), out.double()):
                raise _wrong(f"number {number} differs")

    return check


def _decision(stream: Stream) -> str:
    word = stream.word().upper()
    if word not in _DECISIONS:
        raise stream.bad("YES or NO")
    return word


def _yes_or_no(out: Stream, ans: Stream) -> None:
    if _decision(ans) != _decision(out):
        raise _wrong("the decision differs")


def _yes_or_nos(out: Stream, ans: Stream) -> None:
    number = 0
    while not ans.seek_eof() and not out.seek_eof():
        number += 1
        if _decision(ans) != _decision(out):
            raise _wrong(f"decision {number} differs")
    _same_length(out, ans, lambda stream: stream.word())


def _huge(out: Stream, ans: Stream) -> None:
    wanted, found = ans.word(), out.word()
    for stream, word in ((ans, wanted), (out, found)):
        if not _HUGE.fullmatch(word):
            raise stream.bad("an integer")
    if wanted != found:
        raise _wrong("the number differs")


def _single_cases(out: Stream, ans: Stream) -> None:
    wanted, found = _numbered(ans), _numbered(out)
    for case, (want, number) in enumerate(zip(wanted, found, strict=False), start=1):
        if want != number:
            raise _wrong(f"case {case} differs")
    if len(wanted) != len(found):
        raise Stop(Verdict.PE, f"{len(found)} cases instead of {len(wanted)}")


def _numbered(stream: Stream) -> list[int]:
    numbers: list[int] = []
    while not stream.seek_eof():
        stream.expect("Case")
        stream.expect(f"{len(numbers) + 1}:")
        numbers.append(stream.int64())
    return numbers


def _cases(read: Callable[[Stream, str], object]) -> _Check:
    def check(out: Stream, ans: Stream) -> None:
        case, marks = 0, {id(out): "", id(ans): ""}
        while not ans.seek_eof():
            case += 1
            wanted, found = (_case(stream, case, read, marks) for stream in (ans, out))
            if wanted != found:
                raise _wrong(f"case {case} differs")

    return check


def _case(
    stream: Stream, case: int, read: Callable[[Stream, str], object], marks: dict[int, str]
) -> list[object]:
    # The "Case" that ends one case begins the next: it is read already, but for the first.
    if (marks[id(stream)] if case > 1 else stream.word()) != "Case":
        raise stream.bad("Case")
    stream.expect(f"{case}:")
    items: list[object] = []
    marks[id(stream)] = ""
    while not stream.seek_eof():
        marks[id(stream)] = word = stream.word()
        if word == "Case":
            break
        items.append(read(stream, word))
    return items


CHECKERS: dict[str, _Check] = {
    "acmp": _real(_within(1.5e-6)),
    "caseicmp": _single_cases,
    "casencmp": _cases(lambda stream, word: stream.to_int64(word)),
    "casewcmp": _cases(lambda _, word: word),
    "dcmp": _real(close(1e-6)),
    "fcmp": _lines(lambda one, other: one == other),
    "hcmp": _huge,
    "icmp": _integer,
    "lcmp": _lines(_same_words),
    "ncmp": _integers,
    "nyesno": _yes_or_nos,
    "rcmp": _real(_within(1.5e-6)),
    "rcmp4": _reals(close(1e-4)),
    "rcmp6": _reals(close(1e-6)),
    "rcmp9": _reals(close(1e-9)),
    "rncmp": _reals(_within(1.5e-5)),
    "uncmp": _unordered,
    "wcmp": _words,
    "yesno": _yes_or_no,
}
