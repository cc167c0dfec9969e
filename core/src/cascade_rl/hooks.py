"""The hook specification: everything a domain pack or a reward modifier can implement.

A pack decorates its implementations with ``hookimpl``; a function without the decorator is
a helper and is never called. An implementation may name any subset of the arguments, by
these names; ``*args`` and ``**kwargs`` are refused. Version history of this file:
``HOOK_VERSION`` 1 (cascade-rl 0.1).

Beside its hooks a pack may declare, in its module or class, how its ``reward`` is to be run:

    DETERMINISTIC = False   the same sample may get another verdict, or the verdict rests on
                            something outside the pack and its options (a judge model, a file,
                            a service): nothing is ever answered from a cache. Default: True.
    CONCURRENCY = 8         at most so many samples are being judged at once. Default: one a
                            worker; 64 a worker where ``reward`` is ``async def``.
    RATE_PER_S = 20.0       at most so many calls of ``reward`` a second. Default: no limit.

A ``reward`` that meets a fault which will pass (an overloaded server) raises
``cascade_rl.errors.TransientError`` and is called again later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from typing import Any

import pluggy

from cascade_rl.types import (
    Completion,
    Demonstration,
    Example,
    LengthBudget,
    Mode,
    Prompt,
    Reward,
    Sample,
    SamplingParams,
    Split,
    Stage,
)

PROJECT = "cascade_rl"
DOMAIN_GROUP = "cascade_rl.domains"
MODIFIER_GROUP = "cascade_rl.modifiers"
COMMAND_GROUP = "cascade_rl.commands"
BACKEND_GROUP = "cascade_rl.backends"

#: A pack may state the version it was written for as ``HOOK_VERSION``; absent means 1.
HOOK_VERSION = 1

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class DomainSpec:
    """The hooks of a domain. The first four are required."""

    @hookspec(firstresult=True)
    def load_prompts(self, split: Split, options: Any) -> Iterable[Prompt]:
        """The prompts of a split, in a fixed order, with ids that are unique and stable.

        Called once per stage and once per evaluation. A domain without an eval split of its own
        does not name ``split``, or returns nothing for "eval": a tenth of its prompts is then
        held out by a hash of their ids.
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def reward(
        self, prompt: Prompt, completion: Completion, budget: LengthBudget | None, options: Any
    ) -> Reward | float | Awaitable[Reward | float]:
        """Judge one completion. May be ``async def``. Called in a worker process.

        A float is a score (NaN and infinity are errors of the pack). A limit which the
        completion itself exceeds is a wrong answer with the reason "too_expensive", not an
        unscored one: otherwise a policy learns to hang the verifier.
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def length_budget(self, stage: Stage, options: Any) -> LengthBudget:
        """The domain's default budget for a stage; the cascade file may override each value."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def sampling_params(self, stage: Stage, mode: Mode, options: Any) -> SamplingParams:
        """The domain's default sampling for a stage; the cascade file may override each value."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def load_demonstrations(self, split: Split, options: Any) -> Iterable[Demonstration]:
        """Prompts with a completion to imitate, for SFT stages."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def gold_completion(self, prompt: Prompt, options: Any) -> str | None:
        """A completion that must get full reward, or None where the domain knows of none.

        The engine scores it to tell a pack's fault from a completion that breaks verifiers.
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def reward_group(
        self,
        prompt: Prompt,
        completions: Sequence[Completion],
        rewards: Sequence[Reward],
        options: Any,
    ) -> list[Reward]:
        """Training only: reshape the rewards of one complete group, after ``reward``."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def shape_rewards(self, batch: Sequence[Sample], options: Any) -> list[Reward]:
        """Training only: reshape the rewards of a whole batch, before the advantages."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def examples(self, options: Any) -> Iterable[Example]:
        """Right, wrong and hostile completions with the reward each must get."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def open(self, options: Any) -> None:
        """Called once in each worker before the first reward: a client, a warm child process."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def close(self) -> None:
        """Called once in each worker when it stops in order (not when it is killed)."""
        raise NotImplementedError


class ModifierSpec:
    """The hook of a reward modifier."""

    @hookspec(firstresult=True)
    def modify(
        self, prompt: Prompt, completion: Completion, reward: Reward, options: Any
    ) -> Reward | float:
        """The modifier's own score for a completion, given the domain's reward.

        The cascade file weights it and adds it to the total (``rewards:`` of a stage).
        """
        raise NotImplementedError


REQUIRED_HOOKS = ("load_prompts", "reward", "length_budget", "sampling_params")
