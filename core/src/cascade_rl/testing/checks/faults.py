"""Whatever the completion: no exception, no value that is no reward, no hang, no flood, no signal.

These look at all answers, those to other checks too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from cascade_rl.testing.answers import Answer
from cascade_rl.testing.check import Check
from cascade_rl.testing.results import Finding, shown
from cascade_rl.testing.subject import Case, Subject

S = TypeVar("S", bound=Subject)
Look = Callable[[Subject], Iterator[Finding]]


def raises(subject: Subject) -> Iterator[Finding]:
    """A bad completion is a wrong answer, not an exception."""
    expected = "a verdict: a bad completion is a wrong answer, not a fault"
    yield from _found(subject, _raised, expected)


def value(subject: Subject) -> Iterator[Finding]:
    """``reward`` returns a ``Reward`` or a finite number."""
    expected = "a Reward, or a finite number"
    yield from _found(subject, lambda a: a.text if a.kind == "odd" else None, expected)


def time(subject: Subject) -> Iterator[Finding]:
    """Every completion is judged within the limit."""
    expected = f"a verdict within {subject.timeout_s:g} s, reason 'too_expensive' if need be"
    yield from _found(subject, lambda a: a.text if a.kind == "timeout" else None, expected)


def memory(subject: Subject) -> Iterator[Finding]:
    """No completion makes the process grow beyond the limit."""
    limit = subject.memory_mb

    def too_much(answer: Answer) -> str | None:
        if answer.kind == "memory":
            return answer.text
        grown = f"the process grew by {answer.grown_mb:,.0f} MB"
        return grown if answer.grown_mb > limit else None

    yield from _found(subject, too_much, f"at most {limit:g} MB more for one completion")


def signals(subject: Subject) -> Iterator[Finding]:
    """Alarms and handlers do not exist off the main thread, and other programs have their own."""
    expected = "no call into signal; work that may hang runs in cascade_rl.workers.CallPool"
    for place in subject.facts.get("signals", []):
        yield Finding(given="loading the pack", got=place, expected=expected)
    yield from _found(subject, lambda a: a.signals[0] if a.signals else None, expected)


def _raised(answer: Answer) -> str | None:
    if answer.kind in ("raised", "died"):
        return answer.text
    status = answer.reward.status if answer.reward else ""
    return answer.describe() if status in ("error", "timeout") else None


def _found(
    subject: Subject, fault: Callable[[Answer], str | None], expected: str
) -> Iterator[Finding]:
    for case, answer in subject.answers.values():
        text = fault(answer)
        if text:
            given = f"{case.label}: {shown(case.completion.text)}"
            yield Finding(given=given, got=text, expected=expected)


def fault_checks(cases: Callable[[S], list[Case]], needs: str) -> list[Check[S]]:
    """The checks for a kind of plugin; each sees the answers to ``cases`` and all others."""

    def over(look: Look) -> Callable[[S], Iterator[Finding]]:
        def run(subject: S) -> Iterator[Finding]:
            for case in cases(subject):
                subject.answer(case)
            yield from look(subject)

        return run

    table: tuple[tuple[str, str, Look], ...] = (
        ("signals", "no signals", signals),
        ("raises", "no completion makes it raise", raises),
        ("value", "every verdict is a Reward or a finite number", value),
        ("time", "every completion is judged in bounded time", time),
        ("memory", "every completion is judged in bounded memory", memory),
    )
    return [Check(name, title, over(look), (needs,)) for name, title, look in table]
