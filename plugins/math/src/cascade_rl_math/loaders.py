"""Problems and solutions from rows: one small reader for each way that data sets lay them out.

A row whose answer this pack could not verify is worse than no row: it is found here, once,
and not by a policy that is scored wrong on it for ever.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pydantic import JsonValue

from cascade_rl.errors import DataError
from cascade_rl.types import Demonstration, Prompt, Split
from cascade_rl_math.extract import last_box
from cascade_rl_math.files import rows
from cascade_rl_math.judge import METADATA_KEY, overridden
from cascade_rl_math.options import Judging, Options
from cascade_rl_math.reading import BadGold, gold_text, read_gold
from cascade_rl_math.verify import verify

_log = logging.getLogger(__name__)

_SHOWN = 5
_CALCULATION = re.compile(r"<<[^<>]*>>")


@dataclass(frozen=True)
class Problem:
    """One row, understood. ``solution`` is a worked text, where the data has one."""

    text: str
    gold: str
    solution: str | None = None
    choices: dict[str, JsonValue] = field(default_factory=dict)


def load_problems(split: Split, options: Options) -> list[Prompt]:
    """The prompts of a split. Raises ``DataError`` with file and line."""
    return [_prompt(problem, options) for problem in _problems(split, options)]


def demonstrate_problems(split: Split, options: Options) -> list[Demonstration]:
    """Prompts with their worked solutions. Raises ``DataError`` where the data has none."""
    return [
        Demonstration(
            **_prompt(problem, options).model_dump(), completion=_completion(problem, options)
        )
        for problem in _problems(split, options)
    ]


def _problems(split: Split, options: Options) -> Iterator[Problem]:
    read = _READERS[options.source]
    seen: set[str] = set()
    bad: list[str] = []
    repeated: list[str] = []

    def sound() -> Iterator[Problem]:
        for place, row in rows(split, options):
            problem = read(place, row)
            if why := _unverifiable(problem.gold):
                bad.append(f"{place}: {why}")
                if options.bad_rows == "error":
                    raise DataError(f"{bad[0]}; `bad_rows: drop` leaves such rows out")
            elif problem.text in seen:
                repeated.append(place)
            else:
                seen.add(problem.text)
                yield problem

    yield from islice(sound(), options.count)
    _report(bad, "answers that cannot be verified")
    _report(repeated, "problems that came before")


def _report(places: list[str], what: str) -> None:
    if places:
        more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        _log.warning("dropped %d rows, %s: %s%s", len(places), what, "; ".join(places[:5]), more)


def _unverifiable(gold: str) -> str | None:
    """Why a gold could not be judged by, or not be met by its own text in a box."""
    try:
        if read_gold(gold_text(gold)) is None:
            return "the answer is too large to evaluate"
    except BadGold as error:
        return str(error)
    boxed = last_box(f"\\boxed{{{gold_text(gold)}}}").answer
    if boxed is None or not verify(gold, boxed).equal:
        return f"the answer {gold[:80]!r} does not equal itself once it is in a box"
    return None


def _prompt(problem: Problem, options: Options) -> Prompt:
    digest = hashlib.blake2b(problem.text.encode(), digest_size=8).hexdigest()
    return Prompt.from_text(
        f"math-{digest}",
        problem.text + options.suffix,
        ground_truth=problem.gold,
        mode=options.mode,
        metadata={"source": options.source} | problem.choices,
    )


def _completion(problem: Problem, options: Options) -> str:
    if problem.solution is None:
        raise DataError(
            f"source {options.source!r} has answers but no solutions to imitate;"
            " take demonstrations from gsm8k or math, or leave out the SFT stage"
        )
    boxed = f"\\boxed{{{problem.gold}}}"
    if options.mode == "think":
        return f"<think>\n{problem.solution}\n</think>\n\n{boxed}"
    return problem.solution if boxed in problem.solution else f"{problem.solution}\n\n{boxed}"


def _problem_answer(place: str, row: dict[str, Any]) -> Problem:
    return Problem(
        _field(place, row, "problem"), _field(place, row, "answer"), choices=_choices(place, row)
    )


def _choices(place: str, row: dict[str, Any]) -> dict[str, JsonValue]:
    """The field ``verify`` of a row: how strictly its answer is compared."""
    own = row.get(METADATA_KEY)
    if own is None:
        return {}
    try:
        overridden(Judging(), own)
    except ValueError as error:
        raise DataError(f"{place}: {error}") from error
    return {METADATA_KEY: own}


def _gsm8k(place: str, row: dict[str, Any]) -> Problem:
    solution, mark, gold = _field(place, row, "answer").rpartition("####")
    if not mark:
        raise DataError(f"{place}: field 'answer' has no '#### number' line")
    plain = _CALCULATION.sub("", solution).strip()
    return Problem(_field(place, row, "question"), gold.strip().replace(",", ""), plain)


def _math(place: str, row: dict[str, Any]) -> Problem:
    solution = _field(place, row, "solution")
    box = last_box(solution)
    if box.answer is None:
        raise DataError(f"{place}: field 'solution' has no answer ({box.reason})")
    return Problem(_field(place, row, "problem"), box.answer, solution)


def _field(place: str, row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        found = ", ".join(sorted(map(str, row))) or "none"
        problem = "is empty or no text" if name in row else "is missing"
        raise DataError(f"{place}: field {name!r} {problem}; the row has the fields {found}")
    return value.strip()


_READERS: dict[str, Callable[[str, dict[str, Any]], Problem]] = {
    "problem_answer": _problem_answer,
    "gsm8k": _gsm8k,
    "math": _math,
}
