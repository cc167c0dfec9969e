"""Held-out prompts of one domain, sampled and greedy: what a cell of the matrix is made of."""

from __future__ import annotations

from collections.abc import Sequence

from cascade_rl.config.resolved import ResolvedDomain
from cascade_rl.config.schema import CascadeConfig
from cascade_rl.errors import RunError
from cascade_rl.registry import Registry
from cascade_rl.types import Prompt, SamplingParams
from cascade_rl_trainer.algorithm.randomness import epoch_order
from cascade_rl_trainer.local.rollout import collect
from cascade_rl_trainer.local.scoring import Scorer
from cascade_rl_trainer.model.load import Policy
from cascade_rl_trainer.report.matrix import EvalSample, value_of


def evaluation_prompts(prompts: Sequence[Prompt], count: int, seed: int) -> list[Prompt]:
    """``count`` prompts (or all there are), the same ones after every stage."""
    by_id = {p.id: p for p in prompts}
    return [by_id[i] for i in epoch_order(list(by_id), seed, "evaluation", 0)[:count]]


def evaluate_domain(
    config: CascadeConfig, domain: ResolvedDomain, policy: Policy, registry: Registry
) -> list[EvalSample]:
    """Sample and score; the draws are the same after every stage (common random numbers)."""
    settings = config.evaluation
    held_out = registry.open(domain.name, domain.options).load_prompts("eval")
    prompts = evaluation_prompts(held_out, settings.prompts, config.seed)
    if not prompts:
        raise RunError(f"domain {domain.name!r} has no held-out prompts to evaluate")
    with Scorer(config, domain, None, registry) as scorer:
        found = _samples(config, domain, domain.sampling, policy, scorer, prompts)
        if settings.greedy:
            greedy = SamplingParams(temperature=0, n=1)
            found += _samples(config, domain, greedy, policy, scorer, prompts)
    return found


def _samples(
    config: CascadeConfig,
    domain: ResolvedDomain,
    sampling: SamplingParams,
    policy: Policy,
    scorer: Scorer,
    prompts: Sequence[Prompt],
) -> list[EvalSample]:
    size = max(1, config.evaluation.batch_size // sampling.n)
    seeds = (config.seed, "evaluation", 0)
    return [
        EvalSample(
            domain=domain.name,
            prompt=group.prompt.id,
            value=value_of(reward),
            mode=group.prompt.mode,
            greedy=sampling.temperature == 0,
        )
        for start in range(0, len(prompts), size)
        for group in collect(
            policy, scorer, prompts[start : start + size], domain.budget, sampling, seeds
        )
        for reward in group.rewards
    ]
