"""Right completions get full reward, wrong ones less, examples exactly what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cascade_rl.testing.answers import Answer
from cascade_rl.testing.check import Check, SkipCheck
from cascade_rl.testing.results import Finding, shown
from cascade_rl.testing.subject import Case, DomainSubject

TOLERANCE = 1e-6


def gold(subject: DomainSubject) -> Iterator[Finding]:
    """What the pack calls right is judged right, with nothing held back."""
    right = subject.right  # asks the hooks
    if "gold_completion" in subject.broken:
        yield Finding(
            given="gold_completion",
            got=subject.broken["gold_completion"],
            expected="a text, or None where the domain knows of none",
        )
        return
    judged = _judged(subject, right or subject.require_right())
    full = max((a.score for _, a in judged if a.score is not None), default=0.0)
    verdictless = all(a.reward is not None and a.reward.correct is None for _, a in judged)
    bounded = all(a.score is not None and 0 <= a.score <= 1 for _, a in judged)
    for case, answer in judged:
        reward = answer.reward
        assert reward is not None
        short = verdictless and bounded and (answer.score or 0.0) < full - TOLERANCE
        if reward.correct is False or reward.score is None or short:
            yield _finding(case, answer, "full reward: the pack itself calls it right")
    if judged and verdictless and bounded and full <= 0:
        yield _finding(*judged[0], "more than 0: the pack itself calls it right")


def wrong(subject: DomainSubject) -> Iterator[Finding]:
    """Every wrong example gets less than the best right completion does."""
    examples = subject.example_cases["wrong"]
    if not examples:
        raise SkipCheck("the pack has no example of kind wrong; add some to `examples`")
    judged = _judged(subject, subject.right)
    full = max((a.score for _, a in judged if a.score is not None), default=None)
    for case, answer in _judged(subject, examples):
        assert answer.reward is not None
        as_good = full is not None and answer.score is not None and answer.score >= full
        if answer.reward.correct or as_good:
            yield _finding(case, answer, "less than full reward, not correct")


def examples(subject: DomainSubject) -> Iterator[Finding]:
    """Each example gets exactly the reward that it states; None: it must not be scored."""
    all_kinds = [case for cases in subject.example_cases.values() for case in cases]
    if "examples" in subject.broken:
        yield Finding(given="examples", got=subject.broken["examples"], expected="Example objects")
        return
    if not all_kinds:
        raise SkipCheck("the pack has no examples; add right, wrong and hostile completions")
    for case, answer in _judged(subject, all_kinds):
        assert answer.reward is not None
        if case.expected is None:
            if answer.scored:
                yield _finding(case, answer, "no score: abstained or bad_prompt")
        elif answer.score is None or abs(answer.score - case.expected) > TOLERANCE:
            yield _finding(case, answer, f"score {case.expected:g}")


def _judged(subject: DomainSubject, cases: Sequence[Case]) -> list[tuple[Case, Answer]]:
    """The cases that the pack judged; its faults have checks of their own."""
    answers = [(case, subject.answer(case)) for case in cases]
    return [(case, answer) for case, answer in answers if not answer.is_fault]


def _finding(case: Case, answer: Answer, expected: str) -> Finding:
    given = f"{case.label}: {shown(case.completion.text)}"
    return Finding(given=given, got=answer.describe(), expected=expected)


CHECKS = (
    Check("gold", "right completions get full reward", gold, ("twice",)),
    Check("wrong", "wrong completions get less", wrong, ("twice",)),
    Check("examples", "examples get the reward that they state", examples, ("gold", "wrong")),
)
