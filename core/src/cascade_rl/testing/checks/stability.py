"""The same completion gets the same verdict: twice, in another order, process, thread, batch.

Each of these runs only where the one before passed, so that a fault is reported once and by
the check that names it. A pack that declares ``DETERMINISTIC = False`` skips them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from cascade_rl.engine import Item, RewardEngine
from cascade_rl.testing.answers import Answer
from cascade_rl.testing.check import Check
from cascade_rl.testing.probe import hash_seed
from cascade_rl.testing.results import Finding, shown
from cascade_rl.testing.subject import SEED, Case, Subject

REPEATS = 3


S = TypeVar("S", bound=Subject)
Cases = Callable[[S], list[Case]]
Compare = Callable[[Subject, Sequence[Case]], Iterator[Finding]]


def twice(subject: Subject, cases: Sequence[Case]) -> Iterator[Finding]:
    """The same process, one time after the other."""
    for case in cases:
        first = subject.answer(case)
        again = (subject.probe.score(case.item) for _ in range(REPEATS - 1))
        yield from _compare(case, first, next((a for a in again if differs(first, a)), first))


def order(subject: Subject, cases: Sequence[Case]) -> Iterator[Finding]:
    """The same process, last completion first."""
    yield from _compare_all(subject, list(reversed(cases)), subject.probe.score)


def process(subject: Subject, cases: Sequence[Case]) -> Iterator[Finding]:
    """A fresh process, with other string hashes."""
    yield from _compare_all(subject, cases, subject.other_probe.score)


def thread(subject: Subject, cases: Sequence[Case]) -> Iterator[Finding]:
    """A thread that is not the main one, as in a server or under Ray."""
    yield from _compare_all(
        subject, cases, lambda item: subject.probe.score(item, "score_in_thread")
    )


def batch(subject: Subject, cases: Sequence[Case]) -> Iterator[Finding]:
    """All at once through the engine, as in training; async rewards overlap there."""
    chosen = [case for case in cases if not subject.answer(case).is_fault]
    items = [Item(prompt=case.prompt, completion=case.completion) for case in chosen] * 2
    with (
        hash_seed(SEED),
        RewardEngine(
            subject.name, subject.options, workers=1, timeout_s=subject.timeout_s
        ) as engine,
    ):
        rewards = engine.score(items)
    for case, reward in zip(chosen * 2, rewards, strict=True):
        yield from _compare(case, subject.answer(case), Answer(kind="reward", reward=reward))


def differs(one: Answer, other: Answer) -> bool:
    """Whether two answers to one completion contradict each other."""
    unknown = "given_up" in (one.kind, other.kind)
    return not unknown and one.verdict() != other.verdict()


def _compare_all(
    subject: Subject, chosen: Sequence[Case], score: Callable[[dict[str, object]], Answer]
) -> Iterator[Finding]:
    for case in chosen:
        yield from _compare(case, subject.answer(case), score(case.item))


def _compare(case: Case, first: Answer, other: Answer) -> Iterator[Finding]:
    if differs(first, other):
        yield Finding(
            given=f"{case.label}: {shown(case.completion.text)}",
            got=_contrast(first, other),
            expected="the same verdict; or DETERMINISTIC = False where it rests on a judge",
        )


def _contrast(first: Answer, other: Answer) -> str:
    one, two = first.describe(), other.describe()
    if one == two and first.reward and other.reward:
        one, two = str(first.reward.components), str(other.reward.components)
    return f"{one}; then {two}"


def stability_checks(cases: Cases[S], needs: str, with_batch: bool = True) -> list[Check[S]]:
    """The checks for a kind of plugin. ``cases`` says what is judged; the engine takes domains."""
    table: tuple[tuple[str, str, Compare, tuple[str, ...]], ...] = (
        ("twice", "the same verdict twice in a row", twice, (needs,)),
        ("order", "the same verdict in another order", order, ("twice",)),
        ("process", "the same verdict in another process", process, ("order",)),
        ("thread", "the same verdict in another thread", thread, ("order", "signals")),
        ("batch", "the same verdict in a batch and alone", batch, ("process",)),
    )
    return [
        Check(name, title, _over(cases, run), wants)
        for name, title, run, wants in table
        if with_batch or name != "batch"
    ]


def _over(cases: Cases[S], run: Compare) -> Callable[[S], Iterator[Finding]]:
    return lambda subject: run(subject, cases(subject))
