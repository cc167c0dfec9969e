"""One SFT stage: imitate demonstrations, mixed from several domains in fixed shares."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from cascade_rl.config.resolved import ResolvedCascade, ResolvedStage
from cascade_rl.errors import RunError
from cascade_rl.types import Demonstration
from cascade_rl_trainer.algorithm.schedules import learning_rate
from cascade_rl_trainer.backend import OnStep, StageResult
from cascade_rl_trainer.local.feed import DemonstrationFeed
from cascade_rl_trainer.local.sft import sft_update
from cascade_rl_trainer.local.stage_state import StageState
from cascade_rl_trainer.local.update import TrainRow
from cascade_rl_trainer.model.load import Policy


def run_sft(
    cascade: ResolvedCascade,
    stage: ResolvedStage,
    policy: Policy,
    demonstrations: Mapping[str, Sequence[Demonstration]],
    folder: Path,
    on_step: OnStep,
) -> StageResult:
    """Train from the last checkpoint, or from the start, to the stage's end."""
    config, name = stage.config, stage.stage.name
    rows = _encoded(policy, demonstrations, name)
    weights = config.domains if isinstance(config.domains, dict) else dict.fromkeys(rows, 1.0)
    sizes = {domain: len(encoded) for domain, encoded in rows.items()}
    feed = DemonstrationFeed(sizes, weights, config.batch_size, cascade.config.seed, name)
    every = cascade.config.checkpoint_every
    with StageState(folder, policy, config.optimizer, every) as state:
        step, _ = state.resume()
        while step < config.steps:
            figures = _step(stage, policy, state, [rows[d][i] for d, i in feed.batch(step)], step)
            step += 1
            state.metrics.append({"step": step, **figures})
            state.metrics.flush()
            on_step(name, step, config.steps, figures)
            if step == config.steps or state.is_due(step):
                state.save(step, {})
        state.finish()
    return StageResult(steps=step)


def _step(
    stage: ResolvedStage, policy: Policy, state: StageState, batch: list[TrainRow], step: int
) -> dict[str, object]:
    config, started = stage.config, time.perf_counter()
    lr = learning_rate(config.optimizer, step, config.steps)
    stats = sft_update(
        policy,
        state.optimizer,
        batch,
        lr=lr,
        micro_batch=config.micro_batch,
        max_grad_norm=config.optimizer.max_grad_norm,
        where=f"stage {config.name}, step {step + 1}",
    )
    return {
        "loss": stats.loss,
        "grad_norm": stats.grad_norm,
        "length": stats.tokens / len(batch),
        "lr": lr,
        "seconds": round(time.perf_counter() - started, 4),
    }


def _encoded(
    policy: Policy, demonstrations: Mapping[str, Sequence[Demonstration]], stage: str
) -> dict[str, list[TrainRow]]:
    rows = {
        domain: [TrainRow(*policy.template.demonstration_ids(d)) for d in shown]
        for domain, shown in demonstrations.items()
    }
    for domain, encoded in rows.items():
        if not encoded:
            raise RunError(f"stage {stage!r}: domain {domain!r} gave no demonstrations")
        longest = max(len(r.prompt_ids) + len(r.completion_ids) for r in encoded)
        if policy.context is not None and longest > policy.context:
            raise RunError(
                f"stage {stage!r}: a demonstration of domain {domain!r} has {longest} tokens, the "
                f"model's context is {policy.context}"
            )
    return rows
