"""Loading: rows of a source, read, cleaned, checked and counted."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from cascade_rl.errors import DataError
from cascade_rl.types import Completion, Demonstration, Prompt, Split
from cascade_rl_code import workplace
from cascade_rl_code.builtin import builtin_problems
from cascade_rl_code.files import rows
from cascade_rl_code.hygiene import Report, cleaned
from cascade_rl_code.layouts import READERS
from cascade_rl_code.layouts.problem import BadRow, Problem
from cascade_rl_code.options import Options
from cascade_rl_code.order import FailureOrder
from cascade_rl_code.prompts import gold, to_prompt
from cascade_rl_code.scoring import score

_log = logging.getLogger(__name__)


def load(split: Split, options: Options) -> tuple[list[Prompt], Report]:
    """The prompts of a split, in the order of the file, and what was found on the way.

    The report is logged where it has anything to say. Raises ``DataError`` for a file that
    cannot be read, for one without a single usable problem and, with ``bad_rows: error``, for
    the first problem that cannot be judged.
    """
    report = Report()
    prompts: list[Prompt] = []
    seen: dict[str, str] = {}
    for place, problem in _problems(split, options, report):
        prompt = _prompt(place, problem, options, report, seen)
        if prompt is not None:
            prompts.append(prompt)
            if len(prompts) == options.count:
                break
    report.kept = len(prompts)
    if report.rows and not prompts:
        raise DataError("no problem can be used:\n  " + "\n  ".join(report.lines()))
    if report.bad or report.duplicate_problems or report.duplicate_tests:
        _log.warning("%s", "\n  ".join(report.lines()))
    return prompts, report


def demonstrate(split: Split, options: Options) -> list[Demonstration]:
    """The prompts that have a reference solution. Raises ``DataError`` where none has."""
    prompts, report = load(split, options)
    pairs = [(prompt, gold(prompt)) for prompt in prompts]
    shown = [
        Demonstration(**prompt.model_dump(), completion=reply)
        for prompt, reply in pairs
        if reply is not None
    ]
    if report.rows and not shown:
        raise DataError(
            f"source {options.source!r} has no solutions to imitate here;"
            " take demonstrations from another source, or leave out the SFT stage"
        )
    return shown


def _problems(split: Split, options: Options, report: Report) -> Iterator[tuple[str, Problem]]:
    if options.source == "builtin":
        # Without an eval split a tenth of train is held out, by the rule for all domains.
        for number, problem in enumerate(builtin_problems() if split == "train" else (), start=1):
            report.rows += 1
            yield f"builtin {number}", problem
        return
    read = READERS[options.source]
    for place, row in rows(split, options):
        report.rows += 1
        try:
            yield place, read(row, options)
        except BadRow as error:
            _bad(place, str(error), options, report)


def _prompt(
    place: str, problem: Problem, options: Options, report: Report, seen: dict[str, str]
) -> Prompt | None:
    try:
        clean, truth, repeated = cleaned(problem, options)
        prompt = to_prompt(clean, truth, options)
    except (BadRow, ValueError) as error:
        _bad(place, str(error), options, report)
        return None
    for key in (f"id {prompt.id}", prompt.text):
        if key in seen:
            report.duplicate_problems.append(f"{place} (as {seen[key]})")
            return None
    seen.update({f"id {prompt.id}": place, prompt.text: place})
    if repeated:
        report.duplicate_tests[place] = repeated
    if options.check_solutions and (why := _solution_fails(prompt, options)):
        report.failing_solutions.append((place, why))
        _bad(place, f"its reference solution fails: {why}", options, report)
        return None
    return prompt


def _solution_fails(prompt: Prompt, options: Options) -> str | None:
    reply = gold(prompt)
    if reply is None:
        return None
    sandbox = workplace.sandbox(options)
    reward = score(prompt, Completion(text=reply), options, sandbox, FailureOrder(1))
    return None if reward.correct else reward.reason


def _bad(place: str, why: str, options: Options, report: Report) -> None:
    if options.bad_rows == "error":
        raise DataError(f"{place}: {why}; `bad_rows: drop` leaves such problems out")
    report.bad.append((place, why))
