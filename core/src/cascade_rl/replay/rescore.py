"""Rewards for stored rollouts as another version, other options or other weights give them.

The way of a reward is the trainer's: the domain's reward, the weighted terms, ``reward_group``,
``shape_rewards``, the rule for overlong completions, the advantages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, JsonValue, ValidationError

from cascade_rl.config.schema import RewardTerm
from cascade_rl.engine import Item, RewardEngine, to_reward
from cascade_rl.errors import CascadeError, DataError
from cascade_rl.registry import Domain, Registry, nearest
from cascade_rl.replay.advantages import group_advantages
from cascade_rl.replay.run_folder import Rollout, StageRecord
from cascade_rl.types import LengthBudget, Overlong, Prompt, Record, Reward, Sample


class Change(Record):
    """What to judge with instead; a key that is left out stays as the run had it."""

    options: dict[str, JsonValue] = Field(default_factory=dict)
    rewards: tuple[RewardTerm, ...] | None = None
    overlong: Overlong | None = None


@dataclass(frozen=True)
class Judged:
    """A rollout with its new reward and the advantage that this gives it."""

    rollout: Rollout
    reward: Reward
    advantage: float


def read_change(path: Path) -> Change:
    """The file of ``--with``. Raises ``DataError``."""
    try:
        data = yaml.safe_load(path.read_text()) or {}
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise DataError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    known = list(Change.model_fields)
    unknown = [key for key in data if key not in known] if isinstance(data, dict) else []
    if unknown:
        close = nearest(str(unknown[0]), known, 1)
        hint = f"did you mean {close[0]!r}?" if close else "the pack's options go under `options:`"
        raise DataError(f"{path}: unknown key {unknown[0]!r}; {hint} Keys: {', '.join(known)}")
    try:
        return Change.model_validate(data)
    except ValidationError as error:
        text = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise DataError(f"{path}: {text}") from error


class Rescorer:
    """Judges the rollouts of one stage again."""

    def __init__(
        self,
        stage: StageRecord,
        change: Change,
        *,
        workers: int = 1,
        timeout_s: float = 30.0,
        engine: Callable[..., RewardEngine] = RewardEngine,
    ) -> None:
        self._stage = stage
        self._terms = stage.rewards if change.rewards is None else change.rewards
        overlong = change.overlong or stage.budget.overlong
        self._budget = stage.budget.model_copy(update={"overlong": overlong})
        registry, options = Registry(), {**stage.options, **change.options}
        self._engine = engine(
            stage.domain, options, workers=workers, timeout_s=timeout_s, registry=registry
        )
        self._modifiers = {
            place: registry.modifier(term.modifier, term.options)
            for place, term in enumerate(self._terms)
            if term.modifier
        }
        self._known = known_prompts(self._engine.domain)
        self.unknown = 0

    def judge(self, rollouts: Iterable[Rollout]) -> Iterator[Judged]:
        """New rewards and advantages, in the order of the log."""
        scored = self._engine.in_order((r, self._item(r)) for r in rollouts)
        for _, step in groupby(scored, key=lambda pair: pair[0].step):
            batch = [(rollout, self._total(rollout, reward)) for rollout, reward in step]
            yield from self._finish(batch)

    def close(self) -> None:
        """Stop the workers."""
        self._engine.close()

    def _item(self, rollout: Rollout) -> Item:
        self.unknown += rollout.prompt_id not in self._known
        return Item(
            prompt=rollout.to_prompt(self._known),
            completion=rollout.to_completion(),
            budget=self._step_budget(rollout),
        )

    def _step_budget(self, rollout: Rollout) -> LengthBudget:
        """The stage's budget; a schedule may have allowed the rollout more than that."""
        tokens = max(self._budget.completion_tokens, rollout.tokens or 0)
        return self._budget.model_copy(update={"completion_tokens": tokens})

    def _total(self, rollout: Rollout, base: Reward) -> Reward:
        if not self._terms or base.status != "scored":
            return base
        scores = [self._term(place, rollout, base) for place in range(len(self._terms))]
        named = {t.name: s for t, s in zip(self._terms, scores, strict=True)}
        if any(score is None for score in scores):
            missing = [name for name, score in named.items() if score is None]
            return Reward.unscored("error", f"no score for the terms {', '.join(missing)}")
        total = math.fsum(t.weight * (s or 0.0) for t, s in zip(self._terms, scores, strict=True))
        return base.model_copy(update={"score": total, "components": {**base.components, **named}})

    def _term(self, place: int, rollout: Rollout, base: Reward) -> float | None:
        term = self._terms[place]
        if term.domain == self._stage.domain:
            return base.score
        if term.domain:  # another domain's verdict does not depend on this one's options
            return rollout.components.get(term.domain)
        prompt, completion = rollout.to_prompt(self._known), rollout.to_completion()
        try:
            return to_reward(self._modifiers[place].modify(prompt, completion, base)).score
        except Exception:  # a modifier's fault is a term without a score, as in training
            return None

    def _finish(self, batch: list[tuple[Rollout, Reward]]) -> Iterator[Judged]:
        """The hooks for groups and batches, then the advantages, for one step."""
        groups = [list(group) for _, group in groupby(batch, key=lambda pair: pair[0].group)]
        pairs = [pair for group in groups for pair in self._grouped(group)]
        rewards = self._shaped(pairs)
        places = iter(rewards)
        for group in groups:
            new = [next(places) for _ in group]
            for (rollout, _), reward, advantage in zip(
                group, new, self._advantages(new), strict=True
            ):
                yield Judged(rollout, reward, advantage)

    def _grouped(self, group: list[tuple[Rollout, Reward]]) -> list[tuple[Rollout, Reward]]:
        domain, first = self._engine.domain, group[0][0]
        completions = [rollout.to_completion() for rollout, _ in group]
        rewards = [reward for _, reward in group]
        new = domain.reward_group(first.to_prompt(self._known), completions, rewards)
        return [(rollout, reward) for (rollout, _), reward in zip(group, new, strict=True)]

    def _shaped(self, pairs: Sequence[tuple[Rollout, Reward]]) -> list[Reward]:
        return self._engine.domain.shape_rewards(
            [
                Sample(
                    prompt=rollout.to_prompt(self._known),
                    completion=rollout.to_completion(),
                    reward=reward,
                )
                for rollout, reward in pairs
            ]
        )

    def _advantages(self, rewards: Sequence[Reward]) -> list[float]:
        masked = self._budget.overlong == "mask"
        zeroed = self._budget.overlong == "zero"
        scores = [
            0.0 if zeroed and r.truncated and r.score is not None else r.score for r in rewards
        ]
        take_part = [r.score is not None and not (masked and r.truncated) for r in rewards]
        return group_advantages(scores, take_part, masked_in_group=self._stage.masked_in_group)


def known_prompts(domain: Domain) -> dict[str, Prompt]:
    """The pack's prompts by id: they hold what the log leaves out. {} where they do not load."""
    try:
        return {p.id: p for p in domain.load_prompts("train")}
    except CascadeError:
        return {}


def as_record(judged: Judged) -> Mapping[str, Any]:
    """One line of ``--output``."""
    old, new = judged.rollout, judged.reward
    return {
        "id": old.id,
        "reward": [old.reward, new.score],
        "correct": [old.correct, new.correct],
        "status": [old.status, new.status],
        "advantage": [old.advantage, judged.advantage],
        "reason": [old.reason, new.reason],
        "extracted": new.extracted,
    }
