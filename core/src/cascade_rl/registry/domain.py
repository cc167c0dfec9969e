"""A loaded domain: typed calls into a pack's hooks, with every returned value checked."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import pluggy

from cascade_rl.errors import HookFailed
from cascade_rl.registry.declared import read_declared
from cascade_rl.registry.discover import Announcement
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

T = TypeVar("T")
_IGNORES_SPLIT = "; a pack without an eval split of its own leaves the argument `split` out"
HELD_OUT_SHARE = 10  # one prompt in ten, where the domain has no eval split of its own


class Domain:
    """One pack with one set of options. Cheap to build again; never pickled.

    ``declared`` is what the pack says about how its ``reward`` is to be run. Raises
    ``BadDeclaration``.
    """

    def __init__(
        self, announcement: Announcement, manager: pluggy.PluginManager, options: Any
    ) -> None:
        self.announcement = announcement
        self.options = options
        self._manager = manager
        self._eval_ids: frozenset[str] | None = None
        self.declared = read_declared(announcement, manager.get_plugin(announcement.name))

    @property
    def name(self) -> str:
        """The entry point's name."""
        return self.announcement.name

    @property
    def distribution(self) -> str:
        """The distribution that announces the domain."""
        return self.announcement.distribution

    @property
    def version(self) -> str:
        """The distribution's version."""
        return self.announcement.version

    @property
    def hooks(self) -> frozenset[str]:
        """The names of the hooks that the pack implements."""
        plugin = self._manager.get_plugin(self.name)
        callers = self._manager.get_hookcallers(plugin) or []
        return frozenset(caller.name for caller in callers)

    @property
    def is_async(self) -> bool:
        """Whether the pack's ``reward`` is an ``async def``."""
        (implementation,) = self._manager.hook.reward.get_hookimpls()
        return inspect.iscoroutinefunction(implementation.function)

    def load_prompts(self, split: Split) -> list[Prompt]:
        """The prompts of a split; ids are unique, and no id is in both splits.

        Raises ``HookFailed``.
        """
        own_eval = self._own_eval()
        if split == "eval" and own_eval:
            return own_eval
        train = self._load("load_prompts", Prompt, "train")
        if own_eval:
            both = [p.id for p in train if p.id in self._own_eval_ids()]
            if both:
                raise self._failed(
                    "load_prompts", f"id {both[0]!r} is in both train and eval{_IGNORES_SPLIT}"
                )
            return train
        return [p for p in train if held_out(p.id) == (split == "eval")]

    def load_demonstrations(self, split: Split) -> list[Demonstration]:
        """Demonstrations of a split, never of a held-out prompt. Raises ``HookFailed``."""
        if "load_demonstrations" not in self.hooks:
            raise self._failed("load_demonstrations", "the pack has no demonstrations")
        shown = self._load("load_demonstrations", Demonstration, split, unique=False)
        own_eval_ids = self._own_eval_ids()
        if not own_eval_ids:
            return [d for d in shown if held_out(d.id) == (split == "eval")]
        if split == "train":
            both = [d.id for d in shown if d.id in own_eval_ids]
            if both:
                raise self._failed("load_demonstrations", f"id {both[0]!r} is an eval prompt")
        return shown

    def reward(
        self, prompt: Prompt, completion: Completion, budget: LengthBudget | None
    ) -> Any | Awaitable[Any]:
        """The pack's raw answer: the engine awaits, times and checks it."""
        return self._manager.hook.reward(
            prompt=prompt, completion=completion, budget=budget, options=self.options
        )

    def length_budget(self, stage: Stage) -> LengthBudget:
        """The pack's default budget. Raises ``HookFailed``."""
        return self._call("length_budget", LengthBudget, stage=stage)

    def sampling_params(self, stage: Stage, mode: Mode) -> SamplingParams:
        """The pack's default sampling. Raises ``HookFailed``."""
        return self._call("sampling_params", SamplingParams, stage=stage, mode=mode)

    def gold_completion(self, prompt: Prompt) -> str | None:
        """A completion that must get full reward, where the pack knows one."""
        if "gold_completion" not in self.hooks:
            return None
        gold = self._raw("gold_completion", prompt=prompt)
        if gold is not None and not isinstance(gold, str):
            raise self._failed("gold_completion", f"returned {_shown(gold)}, not str or None")
        return gold

    def reward_group(
        self, prompt: Prompt, completions: Sequence[Completion], rewards: Sequence[Reward]
    ) -> list[Reward]:
        """The group's final rewards; without the hook, the given ones."""
        if "reward_group" not in self.hooks:
            return list(rewards)
        return self._rewards(
            "reward_group", len(rewards), prompt=prompt, completions=completions, rewards=rewards
        )

    def shape_rewards(self, batch: Sequence[Sample]) -> list[Reward]:
        """The batch's final rewards; without the hook, the given ones."""
        if "shape_rewards" not in self.hooks:
            return [sample.reward for sample in batch]
        return self._rewards("shape_rewards", len(batch), batch=batch)

    def examples(self) -> list[Example]:
        """The pack's examples ([] without the hook)."""
        if "examples" not in self.hooks:
            return []
        return self._list("examples", Example, self._raw("examples"))

    def open(self) -> None:
        """Let the pack prepare this process."""
        self._raw("open")

    def close(self) -> None:
        """Let the pack clean up in this process."""
        try:
            self._manager.hook.close()
        except Exception as error:
            raise self._failed("close", f"raised {type(error).__name__}: {error}") from error

    def _own_eval(self) -> list[Prompt]:
        """The pack's own eval prompts; a ``load_prompts`` that does not name ``split`` has none."""
        (implementation,) = self._manager.hook.load_prompts.get_hookimpls()
        knows = "split" in implementation.argnames
        prompts = self._load("load_prompts", Prompt, "eval") if knows else []
        self._eval_ids = frozenset(p.id for p in prompts)
        return prompts

    def _own_eval_ids(self) -> frozenset[str]:
        if self._eval_ids is None:
            self._own_eval()
        return self._eval_ids or frozenset()

    def _raw(self, hook: str, **arguments: Any) -> Any:
        caller: Callable[..., Any] = getattr(self._manager.hook, hook)
        try:
            return caller(**arguments, options=self.options)
        except Exception as error:
            raise self._failed(hook, f"raised {type(error).__name__}: {error}") from error

    def _call(self, hook: str, kind: type[T], **arguments: Any) -> T:
        value = self._raw(hook, **arguments)
        if not isinstance(value, kind):
            raise self._failed(hook, f"returned {_shown(value)}, not a {kind.__name__}")
        return value

    def _rewards(self, hook: str, count: int, **arguments: Any) -> list[Reward]:
        rewards = self._list(hook, Reward, self._raw(hook, **arguments))
        if len(rewards) != count:
            raise self._failed(hook, f"returned {len(rewards)} rewards for {count} samples")
        return rewards

    def _load(self, hook: str, kind: type[T], split: Split, unique: bool = True) -> list[T]:
        items = self._list(hook, kind, self._raw(hook, split=split))
        seen: set[str] = set()
        for item in items if unique else []:
            identity = item.id  # type: ignore[attr-defined]
            if identity in seen:
                raise self._failed(hook, f"id {identity!r} occurs twice in split {split!r}")
            seen.add(identity)
        return items

    def _list(self, hook: str, kind: type[T], value: Iterable[Any] | None) -> list[T]:
        try:
            items = list(value if value is not None else ())
        except Exception as error:
            raise self._failed(hook, f"raised {type(error).__name__}: {error}") from error
        for item in items:
            if not isinstance(item, kind):
                raise self._failed(hook, f"yielded {_shown(item)}, not a {kind.__name__}")
        return items

    def _failed(self, hook: str, what: str) -> HookFailed:
        source = self.announcement.source
        return HookFailed(f"domain {self.name!r} from {source}: hook {hook!r} {what}")


def held_out(prompt_id: str) -> bool:
    """Whether a prompt belongs to the tenth that is held out of training."""
    digest = hashlib.sha256(prompt_id.encode()).digest()
    return int.from_bytes(digest[:8], "big") % HELD_OUT_SHARE == 0


def _shown(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"[:120]
