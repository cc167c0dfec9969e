"""One served domain: its engine, and the engines of the few option sets that requests ask for."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from cascade_rl.engine import Item, RewardEngine
from cascade_rl.errors import BadOptions, ConfigError, PackError
from cascade_rl.registry import Registry, import_plugin, options_model
from cascade_rl.service.feeder import Feeder
from cascade_rl.service.groups import GroupShaper
from cascade_rl.service.options import check_request, remote_fields
from cascade_rl.service.problems import Refusal
from cascade_rl.service.schemas import ground_truth_schema
from cascade_rl.service.settings import DomainSettings
from cascade_rl.types import Example, Reward

#: Sets of request options that have workers of their own at a time, beside the server's set.
MAX_VARIANTS = 4


class Variant:
    """Workers for one set of options."""

    def __init__(self, name: str, settings: DomainSettings, engine: RewardEngine, options: Any):
        self.engine = engine
        self.feeder = Feeder(engine, 2 * engine.limits.concurrency)
        self.shaper = GroupShaper(name, options, settings.timeout_s)
        self.users = 0

    async def stop(self) -> None:
        """Stop the workers; what is unanswered is answered as not scored."""
        await self.feeder.stop()
        await asyncio.to_thread(self.shaper.close)


class ServedDomain:
    """A domain of the allow-list. Built before the event loop runs, ``start``-ed in it.

    Building it imports the pack and validates its options, and takes nothing that would have
    to be given back. Raises a subclass of ``PackError``, or ``ConfigError``.
    """

    def __init__(self, name: str, settings: DomainSettings, registry: Registry) -> None:
        self.name, self.settings, self._registry = name, settings, registry
        self.domain = registry.open(name, dict(settings.options))
        if settings.cohort and not self.groups:
            raise ConfigError(
                f"domain {name!r} rewards samples one by one (its pack has no reward_group), so a "
                "cohort would never be collected; remove `cohort`"
            )
        self.plugin = import_plugin(self.domain.announcement)
        self.options_model = options_model(self.plugin)
        self._remote = remote_fields(name, self.options_model)
        self._variants: OrderedDict[str, Variant] = OrderedDict()
        self._base: Variant | None = None
        self._changing = asyncio.Lock()

    @property
    def groups(self) -> bool:
        """Whether rewards of a whole group are shaped together."""
        return "reward_group" in self.domain.hooks

    @property
    def shapes_batches(self) -> bool:
        """Whether a trainer would reshape whole batches, which no service can do for it."""
        return "shape_rewards" in self.domain.hooks

    @property
    def remote_options(self) -> list[str]:
        """The options that a request may set."""
        return sorted(self._remote)

    @cached_property
    def examples(self) -> list[Example]:
        """The pack's examples; none when the hook fails."""
        try:
            return self.domain.examples()
        except PackError:
            return []

    @cached_property
    def ground_truth(self) -> dict[str, Any]:
        """A JSON schema of the ground truth."""
        return ground_truth_schema(self.plugin, [e.prompt.ground_truth for e in self.examples])

    def start(self) -> None:
        """Take the running loop; workers start with the first sample."""
        engine = self._engine(self.settings.options)
        self._base = Variant(self.name, self.settings, engine, self.settings.options)

    async def score(
        self, items: Sequence[Item], options: dict[str, Any] | None = None
    ) -> list[Reward]:
        """Rewards in order. Raises ``Refusal`` for options that a request may not set."""
        variant = await self._variant(options or {})
        variant.users += 1
        try:
            return await variant.feeder.score(items)
        finally:
            variant.users -= 1

    async def shape_group(
        self, items: Sequence[Item], rewards: Sequence[Reward], options: dict[str, Any] | None
    ) -> list[Reward]:
        """The rewards of one complete group after ``reward_group``."""
        variant = await self._variant(options or {})
        variant.users += 1
        try:
            return await variant.shaper.shape(items, rewards)
        finally:
            variant.users -= 1

    async def stop(self) -> None:
        """Stop all workers; what is unanswered is answered as not scored."""
        variants = [v for v in (self._base, *self._variants.values()) if v is not None]
        await asyncio.gather(*(variant.stop() for variant in variants))

    async def _variant(self, given: dict[str, Any]) -> Variant:
        assert self._base is not None
        if not given:
            return self._base
        known = set(self.options_model.model_fields)
        check_request(self.name, given, self._remote, known)
        key = json.dumps(given, sort_keys=True)
        async with self._changing:
            if key not in self._variants:
                await self._make_room()
                options = {**self.settings.options, **given}
                engine = self._checked_engine(options)
                self._variants[key] = Variant(self.name, self.settings, engine, options)
            self._variants.move_to_end(key)
            return self._variants[key]

    async def _make_room(self) -> None:
        if len(self._variants) < MAX_VARIANTS:
            return
        idle = [key for key, variant in self._variants.items() if not variant.users]
        if not idle:
            raise Refusal(
                503,
                "option_sets_busy",
                f"{MAX_VARIANTS} other sets of request options are in use; try again later",
                retry_after_s=1,
            )
        await self._variants.pop(idle[0]).stop()

    def _checked_engine(self, options: dict[str, Any]) -> RewardEngine:
        try:
            return self._engine(options)
        except BadOptions as error:
            text = "; ".join(f"{key}: {problem}" for key, problem in error.problems) or str(error)
            raise Refusal(422, "option", f"domain {self.name!r}: {text}"[:500]) from None

    def _engine(self, options: dict[str, Any]) -> RewardEngine:
        return RewardEngine(
            self.name,
            dict(options),
            workers=self.settings.workers,
            timeout_s=self.settings.timeout_s,
            memory_mb=self.settings.memory_mb,
            blame=self.settings.blame,
            registry=self._registry,
        )
