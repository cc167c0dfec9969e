"""What every route uses: the served domains, admission, groups, and the counting of answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from cascade_rl.engine import Item
from cascade_rl.registry import Registry
from cascade_rl.service.admission import Admission
from cascade_rl.service.cohort import Cohorts
from cascade_rl.service.domain import ServedDomain
from cascade_rl.service.metrics import Metrics
from cascade_rl.service.problems import Refusal
from cascade_rl.service.settings import ServiceSettings
from cascade_rl.types import Reward

Group = str | int | None

_log = logging.getLogger(__name__)


class Scoring:
    """The service without HTTP. Raises a subclass of ``PackError`` for a pack it cannot use."""

    def __init__(self, settings: ServiceSettings, registry: Registry | None = None) -> None:
        registry = registry or Registry()
        self.settings = settings
        self.domains = {
            name: ServedDomain(name, domain, registry) for name, domain in settings.domains.items()
        }
        self.admission = Admission(settings.limits)
        self.metrics = Metrics(lambda: self.admission.held)
        self._cohorts = {
            name: Cohorts(served.settings.cohort, self._score_cohort(served))
            for name, served in self.domains.items()
            if served.settings.cohort
        }
        self.not_ready = dict.fromkeys(self.domains, "no sample has been scored yet")
        self._warming: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Take the running loop and start the workers, so that the first caller need not wait."""
        for domain in self.domains.values():
            domain.start()
        self.warm_up()

    def warm_up(self) -> None:
        """Score an example of each domain that is not ready, in the background."""
        if self._warming is None or self._warming.done():
            self._warming = asyncio.create_task(self._warm_up())

    def refuse_new(self) -> None:
        """From now on take no new work; what is in flight goes on."""
        self.admission.stopping = True
        for cohorts in self._cohorts.values():
            cohorts.stop()

    async def stop(self) -> None:
        """Answer what is unanswered as not scored, and stop the workers."""
        self.refuse_new()
        if self._warming is not None:
            self._warming.cancel()
        await asyncio.gather(*(domain.stop() for domain in self.domains.values()))

    def pick(self, name: str | None) -> ServedDomain:
        """A served domain; without a name the only one. Raises ``Refusal`` 404 or 422."""
        served = ", ".join(self.domains)
        if name is None:
            if len(self.domains) == 1:
                return next(iter(self.domains.values()))
            raise Refusal(
                422, "domain", f"say which domain, /for/DOMAIN/… or ?domain=…; served: {served}"
            )
        if name not in self.domains:
            raise Refusal(404, "domain", f"domain {name!r:.80} is not served; served: {served}")
        return self.domains[name]

    async def score(
        self,
        domain: ServedDomain,
        items: Sequence[Item],
        *,
        options: dict[str, Any] | None = None,
        groups: Sequence[Group] = (),
        patience_s: float = 0.0,
    ) -> list[Reward]:
        """Rewards in order. ``groups``: which items of a domain with ``reward_group`` belong
        together, one entry an item; None for an item that is on its own.
        """
        async with self.admission.room_for(len(items), patience_s):
            rewards = await domain.score(items, options)
            if domain.groups:
                rewards = await _shape_groups(domain, items, rewards, groups, options)
        self.metrics.answered(domain.name, rewards)
        return rewards

    async def score_apart(
        self, domain: ServedDomain, items: Sequence[Item], *, patience_s: float = 0.0
    ) -> list[Reward]:
        """Rewards of samples that a peer sends one by one; those of a group are collected first.

        Raises ``Refusal`` 422 where the domain needs groups and no cohort was stated, or where
        a cohort is not complete in time.
        """
        if not domain.groups:
            return await self.score(domain, items, patience_s=patience_s)
        if domain.name not in self._cohorts:
            raise Refusal(
                422,
                "needs_groups",
                f"domain {domain.name!r} rewards whole groups: start the service with a cohort "
                "(size and deadline), or send groups to /v1/rewards",
            )
        cohorts = self._cohorts[domain.name]
        async with self.admission.room_for(len(items), patience_s):
            rewards = list(await asyncio.gather(*(cohorts.join(item) for item in items)))
        self.metrics.answered(domain.name, rewards)
        return rewards

    def _score_cohort(self, domain: ServedDomain) -> Any:
        async def score(items: Sequence[Item]) -> list[Reward]:
            rewards = await domain.score(items)
            return await domain.shape_group(items, rewards, None)

        return score

    async def _warm_up(self) -> None:
        for name in list(self.not_ready):
            fault = await _first_fault(self.domains[name])
            if fault is None:
                del self.not_ready[name]
            else:
                if self.not_ready[name] != fault:
                    _log.warning("domain %s is not ready: %s", name, fault)
                self.not_ready[name] = fault


async def _first_fault(domain: ServedDomain) -> str | None:
    """What is wrong with the answer to the pack's first example; None where it has one."""
    examples = await asyncio.to_thread(lambda: domain.examples)
    if not examples:
        return None
    item = Item(prompt=examples[0].prompt, completion=examples[0].completion)
    (reward,) = await domain.score([item])
    return reward.reason if reward.status in ("timeout", "error") else None


async def _shape_groups(
    domain: ServedDomain,
    items: Sequence[Item],
    rewards: list[Reward],
    groups: Sequence[Group],
    options: dict[str, Any] | None,
) -> list[Reward]:
    members: dict[Group, list[int]] = {}
    for place, group in enumerate(groups):
        if group is not None:
            members.setdefault(group, []).append(place)
    shaped = await asyncio.gather(
        *(
            domain.shape_group([items[i] for i in places], [rewards[i] for i in places], options)
            for places in members.values()
        )
    )
    for places, found in zip(members.values(), shaped, strict=True):
        for place, reward in zip(places, found, strict=True):
            rewards[place] = reward
    return rewards
