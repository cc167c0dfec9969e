"""Rewards of single completions, in process or from a reward service. Knows nothing of verl.

The engine owns the deadline: each answer comes, and it comes as a ``Reward``. Whatever goes
wrong on the way is an unscored reward, never a number.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import Future
from typing import Any, Protocol

from cascade_rl.config.schema import CascadeConfig
from cascade_rl.engine import Item
from cascade_rl.engine.cascade import engine_for
from cascade_rl.registry import Registry
from cascade_rl.types import Completion, Reward
from cascade_rl_trainer.algorithm.terms import WeightedTerms, options_of
from cascade_rl_trainer.verl.job import Job
from cascade_rl_trainer.verl.names import TOKEN_VARIABLE
from cascade_rl_trainer.verl.wire import Request


class Source(Protocol):
    """Where rewards of one domain come from: ``RewardEngine``, or the service's client."""

    def submit(self, item: Item) -> Future[Reward]:
        """Start scoring one item."""

    def close(self) -> None:
        """Stop."""


class Judge:
    """Scores the completions of a job's prompts, weighted terms included.

    With ``service_url`` every domain is scored there (the token in ``CASCADE_REWARD_TOKEN``);
    its options are then the service's, and only modifiers run here.
    """

    def __init__(
        self, job: Job, service_url: str | None = None, registry: Registry | None = None
    ) -> None:
        self._registry = registry or Registry()
        terms = job.trained.config.rewards if job.stage is not None else None
        self._terms = WeightedTerms(terms, self._registry)
        options = options_of(job.cascade.config, job.domains, self._terms.terms)
        self._sources: dict[str, Source] = {
            name: self._source(job.cascade.config, name, chosen, service_url)
            for name, chosen in options.items()
        }

    async def reward(self, request: Request, completion: Completion) -> Reward:
        """The sample's reward; never raises for a sample."""
        item = Item(prompt=request.prompt, completion=completion, budget=request.budget)
        names = self._terms.domains(request.domain)
        try:
            futures = [self._sources[name].submit(item) for name in names]
            found = await asyncio.gather(*(asyncio.wrap_future(f) for f in futures))
            return self._terms.total(request.domain, item, dict(zip(names, found, strict=True)))
        except Exception as error:
            return Reward.unscored("error", f"{type(error).__name__}: {error}"[:500])

    def close(self) -> None:
        """Stop the workers, or close the connections."""
        for source in self._sources.values():
            source.close()

    def _source(
        self, config: CascadeConfig, name: str, options: dict[str, Any], url: str | None
    ) -> Source:
        if url is not None:
            from cascade_rl.client import RewardClient

            return RewardClient(url, name, token=os.environ.get(TOKEN_VARIABLE))
        return engine_for(config, name, options, self._registry)
