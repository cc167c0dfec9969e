"""Rewards for a stage: the domain's own, weighted terms, group and batch hooks."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Self

from cascade_rl.config.resolved import ResolvedDomain
from cascade_rl.config.schema import CascadeConfig, RewardTerm
from cascade_rl.engine import Item
from cascade_rl.engine.cascade import engine_for
from cascade_rl.errors import RunError
from cascade_rl.registry import Domain, Registry
from cascade_rl.types import Completion, LengthBudget, Prompt, Reward, Sample
from cascade_rl_trainer.algorithm.terms import WeightedTerms, options_of

GOLD_CHECKS = 8


class Pending:
    """A completion whose rewards are on their way."""

    def __init__(self, item: Item, futures: dict[str, Future[Reward]]) -> None:
        self.item, self._futures = item, futures

    def rewards(self) -> dict[str, Reward]:
        """Each domain's reward; waits for them."""
        return {name: future.result() for name, future in self._futures.items()}


class Scorer:
    """Scores one stage's completions while they are being sampled."""

    def __init__(
        self,
        config: CascadeConfig,
        domain: ResolvedDomain,
        terms: Sequence[RewardTerm] | None,
        registry: Registry,
    ) -> None:
        self._main = domain.name
        self._terms = WeightedTerms(terms, registry)
        options = options_of(config, [domain], self._terms.terms)
        self._engines = {
            name: engine_for(config, name, chosen, registry) for name, chosen in options.items()
        }

    def submit(self, prompt: Prompt, completion: Completion, budget: LengthBudget) -> Pending:
        """Start scoring; returns at once."""
        item = Item(prompt=prompt, completion=completion, budget=budget)
        futures = {name: engine.submit(item) for name, engine in self._engines.items()}
        return Pending(item, futures)

    def total(self, pending: Pending) -> Reward:
        """The sample's reward: the domain's own, or the weighted sum of the terms."""
        return self._terms.total(self._main, pending.item, pending.rewards())

    def group(self, prompt: Prompt, samples: Sequence[tuple[Completion, Reward]]) -> list[Reward]:
        """The rewards of a complete group, after the pack's ``reward_group``."""
        completions = [completion for completion, _ in samples]
        return self._domain.reward_group(prompt, completions, [reward for _, reward in samples])

    def shape(self, batch: Sequence[Sample]) -> list[Reward]:
        """The rewards of a complete batch, after the pack's ``shape_rewards``."""
        return self._domain.shape_rewards(batch)

    def check_gold(self, prompts: Sequence[Prompt]) -> str | None:
        """Score what the pack itself calls right, before anything is trained on.

        Returns a warning when some of it fails. Raises ``RunError`` when none of it passes:
        every reward of the run would be wrong.
        """
        engine, shown = self._engines[self._main], list(prompts[:GOLD_CHECKS])
        golds = [(p, self._domain.gold_completion(p)) for p in shown]
        items = [Item(prompt=p, completion=Completion(text=g)) for p, g in golds if g is not None]
        rewards = engine.score(items)
        failed = [r for r in rewards if r.correct is False or r.score is None]
        if not failed:
            return None
        text = (
            f"domain {self._main!r}: {len(failed)} of {len(items)} gold completions do not pass "
            f"its own reward, the first with: {failed[0].status}, {failed[0].reason}"
        )
        if len(failed) == len(items):
            raise RunError(f"{text}. Run `cascade score {self._main}` on a gold answer.")
        return text

    def close(self) -> None:
        """Stop the workers."""
        for engine in self._engines.values():
            engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _domain(self) -> Domain:
        return self._engines[self._main].domain
