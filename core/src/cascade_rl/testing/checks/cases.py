"""Which completions of a domain the checks of stability and of faults judge."""

from __future__ import annotations

from collections.abc import Sequence

from cascade_rl.testing.check import SkipCheck
from cascade_rl.testing.checks.attacks import NEUTRAL, attack_cases
from cascade_rl.testing.checks.texts import ATTACKS
from cascade_rl.testing.subject import Case, DomainSubject
from cascade_rl.types import Completion

MOST_CASES = 24


def stability_cases(subject: DomainSubject) -> list[Case]:
    """Right, wrong and neutral completions, each once."""
    if not subject.facts["deterministic"]:
        raise SkipCheck("the pack declares DETERMINISTIC = False")
    golds, examples = subject.golds[: MOST_CASES // 2], subject.example_cases
    known = [*golds, *examples["right"], *examples["wrong"]]
    neutral = [
        Case(label="a reply that knows nothing", prompt=p, completion=Completion(text=NEUTRAL))
        for p in subject.prompts[:3]
    ]
    chosen = [*_thinned(known, MOST_CASES - len(neutral)), *neutral]
    return list({(c.prompt.id, c.completion.text): c for c in chosen}.values())


def all_cases(subject: DomainSubject) -> list[Case]:
    """Everything that the pack gives, right completions cut short, and every attack."""
    known = [*subject.right, *(c for cases in subject.example_cases.values() for c in cases)]
    cut = [
        Case(
            label=f"{case.label}, cut at the budget",
            prompt=case.prompt,
            completion=Completion(
                text=case.completion.text[: len(case.completion.text) // 2], finish_reason="length"
            ),
        )
        for case in subject.golds[:3]
    ]
    return [*known, *cut, *(c for name in ATTACKS for c in attack_cases(subject, name))]


def _thinned(known: Sequence[Case], count: int) -> list[Case]:
    if len(known) <= count:
        return list(known)
    return [known[place * len(known) // count] for place in range(count)]
