"""One stage or one evaluation: prompts, configuration, verl, and what it leaves."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from cascade_rl.config.resolved import ResolvedCascade, ResolvedStage
from cascade_rl.errors import RunError
from cascade_rl.registry import Registry
from cascade_rl.types import Prompt
from cascade_rl_trainer.backend import OnStep, StageResult
from cascade_rl_trainer.local.backend import device_of
from cascade_rl_trainer.local.scoring import Scorer
from cascade_rl_trainer.report.matrix import EvalSample
from cascade_rl_trainer.state.files import write_text
from cascade_rl_trainer.verl import checkpoints, configure, evaluation, launch
from cascade_rl_trainer.verl.accepted import require_accepted
from cascade_rl_trainer.verl.data import write_prompts
from cascade_rl_trainer.verl.follow import Follower
from cascade_rl_trainer.verl.job import Job, read_outcome, write_outcome
from cascade_rl_trainer.verl.sections import Settings, nested
from cascade_rl_trainer.verl.tokens import template_of


def train(
    cascade: ResolvedCascade,
    stage: ResolvedStage,
    model: Path,
    folder: Path,
    on_step: OnStep,
    registry: Registry,
) -> StageResult:
    """Train a stage from its last checkpoint, or from the start, to its end; see ``Backend``.

    A stage whose model is there is finished; one whose last checkpoint is its end is exported.
    """
    folder = folder.absolute()
    if not _is_finished(folder):
        job = Job(cascade=cascade, folder=str(folder), stage=stage.stage.index)
        warnings = _prepare(job, model.absolute(), registry)
        name, steps = stage.stage.name, stage.config.steps
        on_step(name, 0, steps, {})  # verl takes a minute or more to start
        follower = Follower(folder / "metrics.jsonl", name, steps, on_step)
        _launch(job, follower)
        _finish(folder, warnings)
    outcome = read_outcome(folder)
    return StageResult(
        steps=outcome["steps"], ended=outcome["ended"], warnings=tuple(outcome["warnings"])
    )


def evaluate(
    cascade: ResolvedCascade, model: Path, on_step: OnStep, registry: Registry
) -> list[EvalSample]:
    """Sample every domain's held-out prompts with the rollout engine; see ``Backend``."""
    folder = model.absolute().parent / "evaluation"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    job = Job(cascade=cascade, folder=str(folder))
    write_prompts(folder / configure.PROMPTS_FILE, evaluation.held_out(job, registry))
    write_files(job, model.absolute())
    _launch(job, lambda: None)
    on_step("evaluation", len(job.domains), len(job.domains), {})
    return evaluation.read_samples(folder)


def write_files(job: Job, model: Path) -> Settings:
    """Write what verl reads; returns its configuration. Raises ``ConfigError``."""
    import yaml

    folder, device = Path(job.folder), device_of(job.cascade.config)
    config = configure.verl_config(job, str(model), device, visible_gpus())
    job.write(folder / configure.JOB_FILE)
    for name, content in (
        (configure.AGENT_FILE, configure.agent_loops()),
        (configure.CONFIG_FILE, configure.as_file(config, folder)),
    ):
        write_text(folder / name, yaml.safe_dump(content, sort_keys=False))
    return config


def _launch(job: Job, watch: Callable[[], None]) -> None:
    """Run verl; what the cascade file adds of its keys is checked first, as verl would not."""
    folder, config = Path(job.folder), job.cascade.config
    device = device_of(config)
    if configure.has_sections(job):
        require_accepted([(folder / configure.CONFIG_FILE).read_text(encoding="utf-8")], device)
    launch.run(folder, configure.environment(device, config.threads), watch)


def visible_gpus() -> int:
    """How many GPUs this machine shows, or verl's default where it has none."""
    import torch

    return torch.cuda.device_count() or configure.DEFAULT_GPUS


def _prepare(job: Job, model: Path, registry: Registry) -> list[str]:
    """Prompts and configuration on disk, gold completions tried; returns warnings."""
    stage, domain = job.trained, job.domains[0]
    prompts = registry.open(domain.name, domain.options).load_prompts("train")
    fitting, warnings = _fitting(job, model, prompts)
    warnings += _check_gold(job, fitting, registry)
    path = Path(job.folder) / configure.PROMPTS_FILE
    write_prompts(path, ((stage.domains[0].name, prompt) for prompt in fitting))
    write_files(job, model)
    return warnings


def _fitting(job: Job, model: Path, prompts: Sequence[Prompt]) -> tuple[list[Prompt], list[str]]:
    template = template_of(str(model), job.cascade.config.model.chat_template)
    limit = job.domains[0].budget.prompt_tokens
    fitting = [p for p in prompts if len(template.prompt_ids(p)) <= limit]
    if not fitting:
        raise RunError(
            f"stage {job.trained.stage.name!r}: none of the {len(prompts)} prompts fits into "
            f"budget.prompt_tokens = {limit}; raise it"
        )
    left_out = len(prompts) - len(fitting)
    text = (
        f"{left_out} of {len(prompts)} prompts are longer than budget.prompt_tokens = {limit} "
        "and were left out"
    )
    return fitting, [text] if left_out else []


def _check_gold(job: Job, prompts: Sequence[Prompt], registry: Registry) -> list[str]:
    """Score gold completions here first; where a service scores, that is its business."""
    sections = [nested(s.verl) for s in (job.cascade.config, job.trained.config)]
    if any(s.get("reward", {}).get("reward_kwargs", {}).get("service_url") for s in sections):
        return []
    config, domain = job.cascade.config, job.domains[0]
    with Scorer(config, domain, job.trained.config.rewards, registry) as scorer:
        warning = scorer.check_gold(prompts)
    return [warning] if warning else []


def _is_finished(folder: Path) -> bool:
    return (folder / "model").exists() and "exported" in read_outcome(folder)


def _finish(folder: Path, warnings: Iterable[str]) -> None:
    """Export the last checkpoint, then say so, then remove it: a kill in between loses nothing."""
    outcome, found = read_outcome(folder), checkpoints.latest(folder)
    if found is None or "ended" not in outcome:
        raise RunError(f"verl ended without a checkpoint; see {folder / launch.LOG_FILE}")
    checkpoints.export(found, folder / "model")
    said = [*warnings, *outcome["warnings"]]
    write_outcome(folder, **{**outcome, "warnings": said, "exported": True})
    checkpoints.remove_all(folder)
