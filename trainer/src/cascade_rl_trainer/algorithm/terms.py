"""The terms of a stage's weighted reward: whose rewards they need, and the total of a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cascade_rl.config.resolved import ResolvedDomain
from cascade_rl.config.schema import CascadeConfig, RewardTerm
from cascade_rl.engine import Item, to_reward
from cascade_rl.registry import Modifier, Registry
from cascade_rl.types import Reward
from cascade_rl_trainer.algorithm.combine import combine_rewards


class WeightedTerms:
    """Sums weighted domains and modifiers; without terms the domain's own reward is the total."""

    def __init__(self, terms: Sequence[RewardTerm] | None, registry: Registry) -> None:
        self.terms = tuple(terms or ())
        self._modifiers: dict[int, Modifier] = {
            place: registry.modifier(term.modifier, term.options)
            for place, term in enumerate(self.terms)
            if term.modifier
        }

    def domains(self, main: str) -> list[str]:
        """The domains whose rewards ``total`` needs, ``main`` first."""
        return list(dict.fromkeys([main, *(t.domain for t in self.terms if t.domain)]))

    def total(self, main: str, item: Item, rewards: Mapping[str, Reward]) -> Reward:
        """The sample's reward, from each domain's; unscored where a part is. Never raises."""
        base = rewards[main]
        if not self.terms:
            return base
        parts = [
            rewards[term.domain] if term.domain else self._modified(place, item, base)
            for place, term in enumerate(self.terms)
        ]
        return combine_rewards(base, parts, self.terms)

    def _modified(self, place: int, item: Item, base: Reward) -> Reward:
        if base.status != "scored":
            return base
        try:
            value = self._modifiers[place].modify(item.prompt, item.completion, base)
        except Exception as error:  # a stranger's code
            name = self.terms[place].modifier
            return Reward.unscored(
                "error", f"modifier {name!r} raised {type(error).__name__}: {error}"[:500]
            )
        return to_reward(value)


def options_of(
    config: CascadeConfig, domains: Sequence[ResolvedDomain], terms: Sequence[RewardTerm]
) -> dict[str, dict[str, Any]]:
    """Each scored domain's options: the stage's own, and those of the terms' domains."""
    options: dict[str, dict[str, Any]] = {d.name: dict(d.options) for d in domains}
    for term in terms:
        if term.domain and term.domain not in options:
            base = config.domains[term.domain].options if term.domain in config.domains else {}
            options[term.domain] = {**base, **term.options}
    return options
