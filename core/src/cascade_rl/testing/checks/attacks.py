"""Completions that are no answer must gain nothing.

What *nothing* is, a pack's own prompts say: for each prompt, the best that a reply which knows
nothing and the right replies to other prompts get. A prompt for which such a reply already gets
full reward ("write three words") says nothing about an attack and is left out; if that is so
for every prompt, ``constant`` fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cascade_rl.testing.answers import Answer
from cascade_rl.testing.check import Check, SkipCheck
from cascade_rl.testing.checks.texts import ATTACKS, NEVER_RIGHT
from cascade_rl.testing.results import Finding, shown
from cascade_rl.testing.subject import Case, DomainSubject
from cascade_rl.types import END_OF_THOUGHTS, Completion, Prompt

MOST_PROMPTS, MOST_OTHERS = 6, 4
NEUTRAL = "I do not know."
_CLOSED = "<think>\n</think>\n"
_SLACK = 1e-9


@dataclass(frozen=True)
class Target:
    """An attacked prompt: its right completion's score, and the most that knowing nothing gets."""

    gold: Case
    full: Answer
    floor: float

    @property
    def is_specific(self) -> bool:
        """Whether replies that know nothing stay below the right one."""
        return self.full.score is not None and self.floor < self.full.score


def gains(subject: DomainSubject, attack: str) -> Iterator[Finding]:
    """The completions of one attack that got something out of the pack."""
    for target in targets(subject):
        if not (target.is_specific or attack in NEVER_RIGHT):
            continue
        for case in _against(subject, target.gold.prompt, attack):
            answer = subject.answer(case)
            if not answer.is_fault and _gained(answer, target):
                yield Finding(
                    given=f"{case.label}: {shown(case.completion.text)}",
                    got=answer.describe(),
                    expected=f"not correct, and at most {target.floor:g}",
                )


def constant(subject: DomainSubject) -> Iterator[Finding]:
    """No single completion is right for every prompt."""
    chosen = targets(subject)
    if len({_asked(t.gold.prompt) for t in chosen}) < 2:
        raise SkipCheck("fewer than two prompts have a right completion of their own")
    candidates = dict.fromkeys(c for t in chosen for c in (t.gold.completion.text, NEUTRAL))
    for text in candidates:
        answers = [
            subject.answer(_case("the same completion", t.gold.prompt, text)) for t in chosen
        ]
        if all(_is_full(answer, t) for answer, t in zip(answers, chosen, strict=True)):
            yield Finding(
                given=f"always {shown(text)}",
                got=f"full reward for all of {len(chosen)} different prompts",
                expected="a completion that ignores the prompt fails for some of them",
            )


def targets(subject: DomainSubject) -> list[Target]:
    """Some prompts with a right completion that is judged right, and their floors."""
    seen: dict[str, Case] = {}
    for case in subject.require_right():
        seen.setdefault(case.prompt.id, case)
    cases = [c for c in seen.values() if _is_right(subject.answer(c))]
    if not cases:
        raise SkipCheck("no right completion is judged right (see the check 'gold')")
    chosen = [cases[i * len(cases) // MOST_PROMPTS] for i in range(MOST_PROMPTS)]
    unique = list({c.prompt.id: c for c in chosen}.values())
    return [_target(subject, case, unique) for case in unique]


def attack_cases(subject: DomainSubject, attack: str) -> list[Case]:
    """One attack on the first prompts, whether or not anything is known to be right."""
    return [c for p in subject.prompts[:2] for c in _against(subject, p, attack)]


def _target(subject: DomainSubject, case: Case, others: list[Case]) -> Target:
    replies = [NEUTRAL]
    for other in others[: MOST_OTHERS + 1]:
        same = other.prompt.ground_truth == case.prompt.ground_truth
        if not (same and other.completion == case.completion):
            replies.append(other.completion.text)
    answers = [
        subject.answer(_case("a reply that knows nothing", case.prompt, text)) for text in replies
    ]
    scores = [a.score for a in answers if a.score is not None]
    full = subject.answer(case)
    if any(a.reward is not None and a.reward.correct for a in answers):
        scores.append(full.score or 0.0)
    return Target(case, full, max(scores, default=0.0))


def _against(subject: DomainSubject, prompt: Prompt, attack: str) -> list[Case]:
    texts = ATTACKS[attack](prompt, _replies(subject, prompt))
    if prompt.mode == "think":
        texts = [t if END_OF_THOUGHTS in t else _CLOSED + t for t in texts] + texts[:1]
    return [_case(f"{attack} for {prompt.id!r}", prompt, text) for text in texts]


def _replies(subject: DomainSubject, prompt: Prompt) -> list[str]:
    """Right answers of several prompts, with the one of ``prompt`` neither first nor last."""
    own = [_answer(c) for c in subject.right if c.prompt.id == prompt.id][:1]
    others = [_answer(c) for c in subject.right if c.prompt.id != prompt.id]
    others = [o for o in dict.fromkeys(others) if o not in own][:4]
    middle = len(others) // 2
    return [*others[:middle], *own, *others[middle:]] if len(others) > 1 else []


def _answer(case: Case) -> str:
    return case.completion.answer


def _gained(answer: Answer, target: Target) -> bool:
    reward, full = answer.reward, target.full.reward
    assert reward is not None
    if reward.score is None:  # a way out: the right completion of this prompt is judged
        return True
    if reward.correct is not None:
        return reward.correct or reward.score > target.floor + _SLACK
    assert full is not None
    bounded = full.score is not None and 0 <= reward.score <= 1 and 0 <= full.score <= 1
    return reward.score > target.floor + _SLACK if bounded else _is_full(answer, target)


def _is_full(answer: Answer, target: Target) -> bool:
    if answer.reward is None or answer.score is None or target.full.score is None:
        return False
    return answer.reward.correct is not False and answer.score >= target.full.score - _SLACK


def _is_right(answer: Answer) -> bool:
    return answer.scored and answer.reward is not None and answer.reward.correct is not False


def _case(label: str, prompt: Prompt, text: str) -> Case:
    return Case(label=label, prompt=prompt, completion=Completion(text=text))


def _asked(prompt: Prompt) -> tuple[str, str]:
    return prompt.text, str(prompt.ground_truth)


def _check(name: str, title: str) -> Check[DomainSubject]:
    return Check(name, title, lambda subject: gains(subject, name), ("twice",))


CHECKS = (
    _check("empty", "an empty completion gains nothing"),
    _check("whitespace", "blanks gain nothing"),
    _check("nul", "NUL characters gain nothing"),
    _check("huge", "100 kB of text gain nothing"),
    _check("emoji", "emoji gain nothing"),
    _check("braces", "braces that are never closed gain nothing"),
    _check("echo", "repeating the prompt gains nothing"),
    _check("stuffing", "naming many answers gains nothing"),
    Check("constant", "no single completion is always right", constant, ("twice",)),
)
