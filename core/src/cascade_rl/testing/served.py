"""One plugin in the process that judges it: loaded, opened, and asked for raw answers."""

from __future__ import annotations

import asyncio
import inspect
import resource
import sys
import time
from typing import Any

from cascade_rl.engine.verdict import to_reward
from cascade_rl.errors import BadOptions, PackError
from cascade_rl.hooks import DOMAIN_GROUP, MODIFIER_GROUP
from cascade_rl.registry import Registry, import_plugin
from cascade_rl.testing.answers import Answer, AnswerKind
from cascade_rl.testing.signals import SignalWatch
from cascade_rl.types import Completion, LengthBudget, Prompt, Reward

GROUPS = {"domain": DOMAIN_GROUP, "modifier": MODIFIER_GROUP}


class OddValueError(Exception):
    """The plugin returned something that is no reward."""


class Served:
    """A plugin with one set of options. ``plugin`` is a ``Domain`` or a ``Modifier``."""

    def __init__(self, kind: str, name: str, options: dict[str, Any]) -> None:
        self.kind, self._name, self._options = kind, name, options
        self._watch = SignalWatch()
        self._watch.install()
        self._registry = Registry()
        self.plugin: Any = None

    def load(self) -> dict[str, Any]:
        """Import, build and open it; says what the import cost, or what is wrong."""
        facts: dict[str, Any] = {}
        try:
            announcement = self._registry.announcement(GROUPS[self.kind], self._name)
            facts |= {"source": announcement.source, "value": announcement.value}
            before, started = set(sys.modules), time.process_time()
            import_plugin(announcement)
            facts["import_s"] = time.process_time() - started
            facts["modules"] = sorted({m.partition(".")[0] for m in set(sys.modules) - before})
            self.plugin = self._open()
        except PackError as error:
            kind = "options" if isinstance(error, BadOptions) else "hooks"
            return {**facts, "wrong": kind, "text": str(error)}
        return {**facts, "signals": self._watch.take(), **self._about()}

    def answer(self, item: dict[str, Any], loop: asyncio.AbstractEventLoop) -> Answer:
        """The raw answer to an item; an async reward runs on ``loop``."""
        before, started = _peak_mb(), time.perf_counter()
        kind: AnswerKind = "reward"
        reward, text = None, ""
        try:
            value = self._judge(item)
            if inspect.isawaitable(value):
                value = loop.run_until_complete(_awaited(value))
            reward = _checked(value)
        except OddValueError as error:
            kind, text = "odd", str(error)
        except Exception as error:
            kind, text = "raised", f"{type(error).__name__}: {error}"
        return Answer(
            kind=kind,
            reward=reward,
            text=text[:500],
            ms=round((time.perf_counter() - started) * 1e3, 3),
            grown_mb=round(_peak_mb() - before, 1),
            signals=tuple(self._watch.take()),
        )

    def _open(self) -> Any:
        if self.kind == "modifier":
            return self._registry.modifier(self._name, self._options)
        domain = self._registry.open(self._name, self._options)
        domain.open()
        return domain

    def _about(self) -> dict[str, Any]:
        if self.kind == "modifier":
            return {"hooks": ["modify"], "deterministic": True}
        declared = self.plugin.declared
        return {"hooks": sorted(self.plugin.hooks), "deterministic": declared.deterministic}

    def _judge(self, item: dict[str, Any]) -> Any:
        prompt = Prompt.model_validate(item["prompt"])
        completion = Completion.model_validate(item["completion"])
        if self.kind == "modifier":
            reward = Reward.model_validate(item["reward"])
            return self.plugin.modify(prompt, completion, reward)
        budget = item.get("budget")
        return self.plugin.reward(prompt, completion, budget and LengthBudget(**budget))


def _checked(value: Any) -> Reward:
    """The value as a reward that its own validator has seen; raises ``OddValueError``."""
    reward = to_reward(value)
    if reward is not value and reward.status == "error":
        raise OddValueError(reward.reason)
    try:
        return Reward.model_validate({n: getattr(reward, n, None) for n in Reward.model_fields})
    except ValueError as error:
        text = " ".join(str(error).split())
        raise OddValueError(f"the pack returned a Reward that is none: {text}") from error


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


async def _awaited(value: Any) -> Any:
    return await value
