"""An evaluation as a verl run: every domain's held-out prompts, sampled by the rollout engine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cascade_rl.errors import RunError
from cascade_rl.registry import Registry
from cascade_rl.types import Prompt, SamplingParams
from cascade_rl_trainer.local.evaluate import evaluation_prompts
from cascade_rl_trainer.local.rollout import Group
from cascade_rl_trainer.report.matrix import EvalSample, value_of
from cascade_rl_trainer.state.files import write_text
from cascade_rl_trainer.verl.job import Job
from cascade_rl_trainer.verl.wire import Request

SAMPLES_FILE = "samples.jsonl"


def held_out(job: Job, registry: Registry) -> list[tuple[str, Prompt]]:
    """(domain, prompt) of every evaluated domain; raises ``RunError`` for one without any."""
    settings, found = job.cascade.config.evaluation, []
    for domain in job.domains:
        prompts = registry.open(domain.name, domain.options).load_prompts("eval")
        chosen = evaluation_prompts(prompts, settings.prompts, job.cascade.config.seed)
        if not chosen:
            raise RunError(f"domain {domain.name!r} has no held-out prompts to evaluate")
        found += [(domain.name, prompt) for prompt in chosen]
    return found


def requests(job: Job, prompts: Sequence[tuple[str, Prompt]]) -> Iterator[Request]:
    """Each prompt sampled ``evaluation.samples`` times, and once more greedily if asked for."""
    domains = {d.name: d for d in job.domains}
    greedy = SamplingParams(temperature=0, n=1)
    for name, prompt in prompts:
        domain = domains[name]
        for sampling in (domain.sampling, *([greedy] if _greedy(job) else [])):
            yield Request(
                domain=name,
                prompt=prompt,
                budget=domain.budget,
                sampling=sampling,
                seeds=(job.cascade.config.seed, "evaluation", 0),
            )


def _greedy(job: Job) -> bool:
    return job.cascade.config.evaluation.greedy


def write_samples(
    folder: Path, asked: Sequence[Request], groups: Mapping[int, Group]
) -> list[EvalSample]:
    """Write what came of each request, by its place; a completion that never came is unscored."""
    samples = [
        EvalSample(
            domain=request.domain,
            prompt=request.prompt.id,
            value=value,
            mode=request.prompt.mode,
            greedy=request.sampling.temperature == 0,
        )
        for place, request in enumerate(asked)
        for value in _values(groups.get(place), request.sampling.n)
    ]
    lines = (json.dumps(vars(sample)) for sample in samples)
    write_text(folder / SAMPLES_FILE, "\n".join(lines) + "\n")
    return samples


def _values(group: Group | None, count: int) -> list[float | None]:
    found = [value_of(reward) for reward in group.rewards] if group else []
    return found + [None] * (count - len(found))


def read_samples(folder: Path) -> list[EvalSample]:
    """What ``write_samples`` wrote."""
    lines = (folder / SAMPLES_FILE).read_text(encoding="utf-8").splitlines()
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [EvalSample(**record) for record in records]
