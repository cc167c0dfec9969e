"""One GRPO stage, top to bottom: draw prompts, sample, score, compare, update, log.

Strictly on-policy (paper, eq. 1): each batch is sampled from the current weights and
used for exactly one update. The formulas are in ``algorithm/``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from cascade_rl.config.resolved import ResolvedCascade, ResolvedStage
from cascade_rl.errors import RunError
from cascade_rl.types import LengthBudget, Prompt, Sample, SamplingParams
from cascade_rl_trainer.algorithm.advantages import group_advantages
from cascade_rl_trainer.algorithm.combine import cancelling_terms
from cascade_rl_trainer.algorithm.filtering import has_signal
from cascade_rl_trainer.algorithm.overlong import Verdict, judge_batch
from cascade_rl_trainer.algorithm.schedules import learning_rate, limits_at, should_advance
from cascade_rl_trainer.backend import OnStep, StageResult
from cascade_rl_trainer.local.feed import PromptFeed, in_modes
from cascade_rl_trainer.local.rollout import Group, collect
from cascade_rl_trainer.local.scoring import Scorer
from cascade_rl_trainer.local.stage_state import StageState
from cascade_rl_trainer.local.update import TrainRow, policy_update
from cascade_rl_trainer.local.watch import Watch
from cascade_rl_trainer.model.load import Policy


class GrpoStage:
    """The loop over the steps of one stage."""

    def __init__(
        self,
        cascade: ResolvedCascade,
        stage: ResolvedStage,
        policy: Policy,
        scorer: Scorer,
        prompts: Sequence[Prompt],
        folder: Path,
    ) -> None:
        self._seed, self._policy, self._scorer = cascade.config.seed, policy, scorer
        self._config, self._name = stage.config, stage.stage.name
        self._domain = stage.domains[0]
        self._watch = Watch(stage.config)
        fitting = self._fitting(prompts)
        self._feed = PromptFeed(fitting, stage.config.filter, self._seed, self._name)
        self._state = StageState(
            folder, policy, stage.config.optimizer, cascade.config.checkpoint_every
        )
        self._gold = fitting

    def run(self, on_step: OnStep) -> StageResult:
        """Train from the last checkpoint, or from the start, to the stage's end."""
        with self._state:
            step, ended = self._resume()
            while ended is None:
                figures = self._step(step) | {"warnings": self._watch.untold()}
                step += 1
                self._state.metrics.append({"step": step, **figures})
                self._state.metrics.flush()
                on_step(self._name, step, self._config.steps, figures)
                ended = self._reason_to_end(step)
                if ended is not None or self._state.is_due(step):
                    self._save(step, ended)
            self._watch.require_signal(self._name, step)
            self._state.finish()
        return StageResult(steps=step, ended=ended, warnings=self._watch.warnings)

    def _resume(self) -> tuple[int, str | None]:
        step, record = self._state.resume()
        if record is None:
            self._watch.warn(self._scorer.check_gold(self._gold))
            return step, None
        self._feed.load_state(record["feed"])
        self._watch.load_state(record["watch"])
        return step, record["ended"]

    def _save(self, step: int, ended: str | None) -> None:
        record = {"feed": self._feed.state(), "watch": self._watch.state(), "ended": ended}
        self._state.save(step, record)

    def _reason_to_end(self, step: int) -> str | None:
        if step >= self._config.steps:
            return "all steps"
        if should_advance(self._watch.truncation, self._config.advance):
            return "truncation low enough"
        return "no prompt left that carries signal" if self._watch.exhausted else None

    def _step(self, step: int) -> dict[str, Any]:
        started = time.perf_counter()
        budget, sampling = limits_at(
            self._config.schedule, self._domain.budget, self._domain.sampling, step
        )
        groups, resampled = self._batch(step, budget, sampling)
        sampled_at = time.perf_counter()
        verdicts, advantages = self._judge(groups, budget)
        lr = learning_rate(self._config.optimizer, step, self._config.steps)
        stats = policy_update(
            self._policy,
            self._state.optimizer,
            [TrainRow(g.prompt_ids, s.token_ids) for g in groups for s in g.samples],
            advantages,
            [v.take_part for v in verdicts],
            temperature=sampling.temperature,
            lr=lr,
            micro_batch=self._config.micro_batch,
            max_grad_norm=self._config.optimizer.max_grad_norm,
            where=f"stage {self._name}, step {step + 1}",
        )
        self._watch.step(groups, trained=stats.used_rows > 0)
        self._log_rollouts(step + 1, groups, advantages)
        done = time.perf_counter()
        return {
            **batch_figures(groups, verdicts),
            "zero_variance": 1.0 - _varied(groups, advantages),
            "trained_samples": stats.used_rows,
            "trained_tokens": stats.tokens,
            "grad_norm": stats.grad_norm,
            "entropy": stats.entropy,
            "resampled": resampled,
            "epoch": self._feed.epoch,
            "lr": lr,
            "temperature": sampling.temperature,
            "completion_tokens": budget.completion_tokens,
            "seconds": round(done - started, 4),
            "sampling_seconds": round(sampled_at - started, 4),
        }

    def _batch(
        self, step: int, budget: LengthBudget, sampling: SamplingParams
    ) -> tuple[list[Group], int]:
        """The step's groups; with in-batch filtering, those with signal, redrawn with a bound."""
        wanted, rule = self._config.batch_size, self._config.filter
        groups = self._collect(step, wanted, budget, sampling, frozenset())
        if rule.kind != "in_batch":
            return groups, 0
        kept, tries = self._with_signal(groups, budget), 0
        seen = {g.prompt.id for g in groups}
        while len(kept) < wanted and tries < rule.max_retries:
            tries += 1
            more = self._collect(step, wanted - len(kept), budget, sampling, frozenset(seen))
            if not more:
                break
            seen |= {g.prompt.id for g in more}
            kept += self._with_signal(more, budget)
        return kept or groups, tries

    def _collect(
        self,
        step: int,
        count: int,
        budget: LengthBudget,
        sampling: SamplingParams,
        taken: frozenset[str],
    ) -> list[Group]:
        prompts = self._feed.draw(count, taken)
        seeds = (self._seed, self._name, step)
        prompts = in_modes(prompts, self._config.modes, *seeds)
        groups = collect(self._policy, self._scorer, prompts, budget, sampling, seeds)
        for group in groups:
            self._feed.record(group.prompt.id, group.rewards)
        self._watch.exhausted = not groups and not taken
        return groups

    def _with_signal(self, groups: list[Group], budget: LengthBudget) -> list[Group]:
        counted = self._config.masked_in_group
        return [g for g in groups if has_signal(g.rewards, budget, masked_in_group=counted)]

    def _judge(
        self, groups: list[Group], budget: LengthBudget
    ) -> tuple[list[Verdict], list[float]]:
        """Batch-level shaping, then who takes part, then the advantages."""
        batch = [
            Sample(prompt=g.prompt, completion=s.completion, reward=s.reward)
            for g in groups
            for s in g.samples
        ]
        shaped = iter(self._scorer.shape(batch))
        for group in groups:
            group.samples = [s.rewarded(next(shaped)) for s in group.samples]
        verdicts = judge_batch((r for g in groups for r in g.rewards), budget)
        scores = [float("nan") if v.score is None else v.score for v in verdicts]
        if not scores:
            return verdicts, []
        advantages = group_advantages(
            torch.tensor(scores, dtype=torch.float64),
            [i for i, g in enumerate(groups) for _ in g.samples],
            [v.take_part for v in verdicts],
            masked_in_group=self._config.masked_in_group,
        )
        if self._config.rewards:
            names = [cancelling_terms(g.rewards, self._config.rewards) for g in groups]
            self._watch.cancelled([n for n in names if n], len(groups))
        return verdicts, advantages.tolist()

    def _log_rollouts(self, step: int, groups: list[Group], advantages: list[float]) -> None:
        places = iter(advantages)
        for group in groups:
            for number, sample in enumerate(group.samples):
                self._state.rollouts.append(
                    {"step": step, "sample": number, "advantage": next(places)}
                    | group.record(sample)
                )

    def _fitting(self, prompts: Sequence[Prompt]) -> list[Prompt]:
        limit, encode = self._domain.budget.prompt_tokens, self._policy.template.prompt_ids
        fitting = [p for p in prompts if len(encode(p)) <= limit]
        if not fitting:
            raise RunError(
                f"stage {self._name!r}: none of the {len(prompts)} prompts fits into "
                f"budget.prompt_tokens = {limit}; raise it"
            )
        if len(fitting) < len(prompts):
            self._watch.warn(
                f"{len(prompts) - len(fitting)} of {len(prompts)} prompts are longer than "
                f"budget.prompt_tokens = {limit} and were left out"
            )
        return fitting


def batch_figures(groups: Sequence[Group], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """What a batch looked like: means over its samples, counts of the unusual ones."""
    samples = [s for g in groups for s in g.samples]
    rewards = [s.reward for s in samples]
    scores = [v.score for v in verdicts if v.score is not None]
    correct = [r.correct for r in rewards if r.correct is not None]
    unscored = Counter(r.status for r in rewards if r.score is None)
    return {
        "reward": _mean(scores),
        "correct": _mean(correct),
        "truncated": _mean([r.truncated for r in rewards]),
        "length": _mean([len(s.token_ids) for s in samples]),
        "samples": len(samples),
        "masked": sum(not v.take_part and v.score is not None for v in verdicts),
        "unscored": sum(unscored.values()),
        "unscored_by_status": dict(sorted(unscored.items())),
    }


def _varied(groups: Sequence[Group], advantages: Sequence[float]) -> float:
    places = iter(advantages)
    rows = [[next(places) for _ in g.samples] for g in groups]
    return _mean([any(a != 0 for a in row) for row in rows]) or 0.0


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
