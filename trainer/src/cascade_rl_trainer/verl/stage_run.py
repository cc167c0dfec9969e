"""What we do in each step of verl's loop. Pure of verl: prompts in, verdicts and masks out.

verl samples, computes log-probabilities and updates; which prompts, whose samples take part,
with what advantage, and what is logged is decided here, with the same functions and in the same
files as in the local backend.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from cascade_rl.registry import Registry
from cascade_rl.types import LengthBudget, Prompt, Sample, SamplingParams
from cascade_rl_trainer.algorithm.advantages import group_advantages
from cascade_rl_trainer.algorithm.combine import cancelling_terms
from cascade_rl_trainer.algorithm.filtering import has_signal
from cascade_rl_trainer.algorithm.overlong import Verdict, judge_batch
from cascade_rl_trainer.algorithm.schedules import limits_at, should_advance
from cascade_rl_trainer.local.feed import PromptFeed, in_modes
from cascade_rl_trainer.local.grpo import batch_figures
from cascade_rl_trainer.local.rollout import Group
from cascade_rl_trainer.local.watch import Watch
from cascade_rl_trainer.state.log import JsonLog
from cascade_rl_trainer.verl.job import Job
from cascade_rl_trainer.verl.wire import Request

#: Samples so many prompts more, none of them twice in the batch.
DrawMore = Callable[[int, frozenset[str]], list[Group]]


class Weighed(NamedTuple):
    """A batch after shaping: one verdict and one advantage a sample, group after group."""

    verdicts: list[Verdict]
    advantages: list[float]

    @property
    def trains(self) -> bool:
        """Whether any sample would move the weights."""
        return any(v.take_part and a != 0 for v, a in zip(*self, strict=True))


class StageRun:
    """The state of a stage beside verl's own: feed, watch, logs."""

    def __init__(self, job: Job, prompts: Sequence[Prompt], registry: Registry) -> None:
        stage = job.trained
        self._seed, self._name, self.config = (
            job.cascade.config.seed,
            stage.stage.name,
            stage.config,
        )
        self._resolved = stage.domains[0]
        self._domain = registry.open(self._resolved.name, self._resolved.options)
        self._feed = PromptFeed(prompts, stage.config.filter, self._seed, self._name)
        self._watch = Watch(stage.config)
        self._metrics = JsonLog(Path(job.folder) / "metrics.jsonl")
        self._rollouts = JsonLog(Path(job.folder) / "rollouts.jsonl")
        self._started = time.perf_counter()
        self._resampled = 0
        self.ended: str | None = None

    @property
    def name(self) -> str:
        """The stage's name."""
        return self._name

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the stage warned of, each once."""
        return self._watch.warnings

    def warn(self, text: str) -> None:
        """Say something once."""
        self._watch.warn(text)

    def limits(self, step: int) -> tuple[LengthBudget, SamplingParams]:
        """The budget and the sampling of a step (0 is the first), schedules applied."""
        resolved = self._resolved
        return limits_at(self.config.schedule, resolved.budget, resolved.sampling, step)

    def draw(self, step: int, count: int, taken: frozenset[str] = frozenset()) -> list[Request]:
        """The next prompts, as the step samples them; fewer where the filter left fewer."""
        if not taken:
            self._started = time.perf_counter()
        prompts = self._feed.draw(count, taken)
        seeds = (self._seed, self._name, step)
        prompts = in_modes(prompts, self.config.modes, *seeds)
        budget, sampling = self.limits(step)
        return [
            Request(
                domain=self._resolved.name,
                prompt=prompt,
                budget=budget,
                sampling=sampling,
                seeds=seeds,
            )
            for prompt in prompts
        ]

    def finish_groups(self, groups: Sequence[Group]) -> None:
        """Let the pack reshape complete groups, and tell the filter how they went."""
        for group in groups:
            completions = [s.completion for s in group.samples]
            rewards = self._domain.reward_group(group.prompt, completions, group.rewards)
            group.samples = [s.rewarded(r) for s, r in zip(group.samples, rewards, strict=True)]
            self._feed.record(group.prompt.id, group.rewards)

    def choose(self, step: int, groups: list[Group], draw_more: DrawMore) -> list[Group]:
        """The groups to train on: all, or with in-batch filtering those with signal.

        Missing ones are drawn again at most ``filter.max_retries`` times: verl itself has no
        bound. Where nothing at all carries signal the first draw is kept, to be counted.
        """
        wanted, rule, self._resampled = self.config.batch_size, self.config.filter, 0
        if rule.kind != "in_batch":
            return groups
        budget, _ = self.limits(step)
        kept = [g for g in groups if self._has_signal(g, budget)]
        seen = {g.prompt.id for g in groups}
        while len(kept) < wanted and self._resampled < rule.max_retries:
            self._resampled += 1
            more = draw_more(wanted - len(kept), frozenset(seen))
            if not more:
                break
            seen |= {g.prompt.id for g in more}
            kept += [g for g in more if self._has_signal(g, budget)]
        return kept or groups

    def _has_signal(self, group: Group, budget: LengthBudget) -> bool:
        counted = self.config.masked_in_group
        return has_signal(group.rewards, budget, masked_in_group=counted)

    def weigh(self, step: int, groups: Sequence[Group]) -> Weighed:
        """Batch-level shaping, then who takes part, then the advantages."""
        batch = [
            Sample(prompt=g.prompt, completion=s.completion, reward=s.reward)
            for g in groups
            for s in g.samples
        ]
        shaped = iter(self._domain.shape_rewards(batch))
        for group in groups:
            group.samples = [s.rewarded(next(shaped)) for s in group.samples]
        if self.config.rewards:
            names = [cancelling_terms(g.rewards, self.config.rewards) for g in groups]
            self._watch.cancelled([n for n in names if n], len(groups))
        budget, _ = self.limits(step)
        return weigh(groups, budget, self.config.masked_in_group)

    def finish_step(
        self, step: int, groups: Sequence[Group], weighed: Weighed, update: Mapping[str, Any]
    ) -> None:
        """Log a step and decide whether it was the last; raises ``RunError`` to stop.

        ``update`` holds verl's figures of the update (grad_norm, entropy, lr, lost).
        """
        budget, sampling = self.limits(step)
        self._watch.step(groups, trained=weighed.trains)
        self._log_rollouts(step + 1, groups, weighed.advantages)
        tokens = [s.completion.tokens or 0 for g in groups for s in g.samples]
        used = [v.take_part and a != 0 for v, a in zip(*weighed, strict=True)]
        figures = {
            **batch_figures(groups, weighed.verdicts),
            "zero_variance": _flat_share(groups, weighed.advantages),
            "trained_samples": sum(used),
            "trained_tokens": sum(
                n for n, v in zip(tokens, weighed.verdicts, strict=True) if v.take_part
            ),
            **update,
            "resampled": self._resampled,
            "epoch": self._feed.epoch,
            "temperature": sampling.temperature,
            "completion_tokens": budget.completion_tokens,
            "seconds": round(time.perf_counter() - self._started, 4),
            "warnings": self._watch.untold(),
        }
        self._metrics.append({"step": step + 1, **figures})
        self._metrics.flush()
        self.ended = self._reason_to_end(step + 1)

    def end(self, step: int, reason: str | None = None) -> None:
        """The stage is over after so many steps; raises ``RunError`` if it trained on nothing."""
        self.ended = reason or self.ended or "all steps"
        self._watch.require_signal(self._name, step)

    def close(self) -> None:
        """Close the logs."""
        self._metrics.close()
        self._rollouts.close()

    def state(self) -> dict[str, Any]:
        """Everything needed to go on, as plain JSON; the logs are on the disk up to here."""
        return {
            "feed": self._feed.state(),
            "watch": self._watch.state(),
            "ended": self.ended,
            "metrics": self._metrics.position(),
            "rollouts": self._rollouts.position(),
        }

    def resume(self, state: Mapping[str, Any] | None) -> None:
        """Go on where ``state`` was taken; from the start without one. Cuts the logs."""
        if state is None:
            self._metrics.cut(0)
            self._rollouts.cut(0)
            return
        self._feed.load_state(state["feed"])
        self._watch.load_state(state["watch"])
        self.ended = state["ended"]
        self._metrics.cut(state["metrics"])
        self._rollouts.cut(state["rollouts"])

    def _reason_to_end(self, done: int) -> str | None:
        if done >= self.config.steps:
            return "all steps"
        if should_advance(self._watch.truncation, self.config.advance):
            return "truncation low enough"
        return None

    def _log_rollouts(
        self, step: int, groups: Sequence[Group], advantages: Sequence[float]
    ) -> None:
        places = iter(advantages)
        for group in groups:
            for number, sample in enumerate(group.samples):
                self._rollouts.append(
                    {"step": step, "sample": number, "advantage": next(places)}
                    | group.record(sample)
                )
        self._rollouts.flush()


def weigh(groups: Sequence[Group], budget: LengthBudget, masked_in_group: bool) -> Weighed:
    """Who takes part in the update and with what advantage; groups by position in the list."""
    verdicts = judge_batch((r for g in groups for r in g.rewards), budget)
    scores = [float("nan") if v.score is None else v.score for v in verdicts]
    if not scores:
        return Weighed([], [])
    advantages = group_advantages(
        torch.tensor(scores, dtype=torch.float64),
        [i for i, g in enumerate(groups) for _ in g.samples],
        [v.take_part for v in verdicts],
        masked_in_group=masked_in_group,
    )
    return Weighed(verdicts, advantages.tolist())


def _flat_share(groups: Sequence[Group], advantages: Sequence[float]) -> float:
    """The share of groups without any advantage."""
    places = iter(advantages)
    flat = [not any([next(places) != 0 for _ in g.samples]) for g in groups]  # noqa: C419
    return sum(flat) / len(flat) if flat else 1.0
