"""The conformance kit for reward modifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from cascade_rl.hooks import MODIFIER_GROUP
from cascade_rl.registry import Registry
from cascade_rl.testing.check import Check, Runner, by_name
from cascade_rl.testing.checks import loading
from cascade_rl.testing.checks.faults import fault_checks
from cascade_rl.testing.checks.stability import stability_checks
from cascade_rl.testing.checks.texts import ATTACKS
from cascade_rl.testing.results import Report
from cascade_rl.testing.subject import Case, Subject
from cascade_rl.types import Completion, Mode, Prompt, Reward

_TEXTS = (
    "The answer is 12.",
    "<think>3 + 9</think>\n\\boxed{12}",
    "one two three " * 50,
    "<answer>42</answer> Das ist alles. 这是答案 и всё",
)
_REWARDS = (
    Reward.verdict(True, "equal"),
    Reward.verdict(False, "not equal"),
    Reward(score=-3.25, components={"quality": -3.25}),
)


class ModifierCase(Case):
    """A completion and the domain's reward for it."""

    reward: Reward

    @property
    def item(self) -> dict[str, Any]:
        """The form that a probe takes."""
        return {**super().item, "reward": self.reward.model_dump(mode="json")}


class ModifierSubject(Subject):
    """A modifier; what it is given does not depend on it."""

    kind = "modifier"


def usual_cases(subject: ModifierSubject) -> list[Case]:
    """Ordinary completions, in every mode, with every kind of reward."""
    del subject
    return [
        _case("an ordinary completion", _prompt(mode), text, reward)
        for mode in get_args(Mode)
        for text in _TEXTS
        for reward in _REWARDS
    ]


def all_cases(subject: ModifierSubject) -> list[Case]:
    """The same and the hostile ones."""
    prompt = _prompt("think")
    hostile = [
        _case(name, prompt, text, _REWARDS[1])
        for name, texts in ATTACKS.items()
        for text in texts(prompt, list(_TEXTS))
    ]
    return [*usual_cases(subject), *hostile]


CHECKS: dict[str, Check[ModifierSubject]] = by_name(
    loading.CHECKS,
    stability_checks(usual_cases, "options", with_batch=False),
    fault_checks(all_cases, "options"),
)


def check_modifier(
    name: str,
    options: Mapping[str, Any] | None = None,
    only: Sequence[str] = (),
    again: str = "",
    **limits: float,
) -> Report:
    """Run the kit, or the named checks of it. ``limits``: ``timeout_s`` and ``memory_mb``.

    Raises ``UnknownDomain`` or ``DuplicateDomain``; everything else that is wrong is a result.
    """
    source = Registry().announcement(MODIFIER_GROUP, name).source
    subject = ModifierSubject(name, options, **limits)
    try:
        again = again or f"cascade check {name} --modifier"
        runner = Runner(list(CHECKS.values()), subject, again)
        results = tuple(runner.result(check) for check in only or CHECKS)
    finally:
        subject.close()
    return Report(kind="modifier", name=name, source=source, results=results)


def _prompt(mode: Mode) -> Prompt:
    return Prompt.from_text(f"kit-{mode}", "What is 3 + 9?", ground_truth="12", mode=mode)


def _case(label: str, prompt: Prompt, text: str, reward: Reward) -> Case:
    completion = Completion(text=text, tokens=len(text) // 4)
    return ModifierCase(label=label, prompt=prompt, completion=completion, reward=reward)
