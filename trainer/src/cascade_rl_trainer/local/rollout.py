"""Sampling a batch of groups, each completion scored the moment it is finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from cascade_rl.types import Completion, FinishReason, LengthBudget, Prompt, Reward, SamplingParams
from cascade_rl_trainer.algorithm.randomness import sample_seed
from cascade_rl_trainer.local.sampling import sample
from cascade_rl_trainer.local.scoring import Pending, Scorer
from cascade_rl_trainer.model.load import Policy


@dataclass(frozen=True)
class Rollout:
    """One sampled completion with its reward."""

    token_ids: list[int]
    completion: Completion
    reward: Reward

    def rewarded(self, reward: Reward) -> Rollout:
        """The same completion with another reward."""
        return replace(self, reward=reward)


@dataclass
class Group:
    """All completions of one prompt."""

    prompt: Prompt
    prompt_ids: list[int]
    samples: list[Rollout]

    @property
    def rewards(self) -> list[Reward]:
        """The rewards, in the samples' order."""
        return [s.reward for s in self.samples]

    def record(self, sample: Rollout) -> dict[str, Any]:
        """A sample as a line of ``rollouts.jsonl``."""
        reward = sample.reward
        return {
            "prompt_id": self.prompt.id,
            "prompt": self.prompt.text,
            "mode": self.prompt.mode,
            "ground_truth": self.prompt.ground_truth,
            "completion": sample.completion.text,
            "finish_reason": sample.completion.finish_reason,
            "tokens": sample.completion.tokens,
            "reward": reward.score,
            "correct": reward.correct,
            "status": reward.status,
            "reason": reward.reason,
            "truncated": reward.truncated,
            "components": reward.components,
            "ms": reward.ms,
        }


def collect(
    policy: Policy,
    scorer: Scorer,
    prompts: Sequence[Prompt],
    budget: LengthBudget,
    sampling: SamplingParams,
    seeds: tuple[int, str, int],
) -> list[Group]:
    """Sample ``sampling.n`` completions of each prompt and score them meanwhile.

    ``seeds``: the run's seed, the stage's name, the step. Identity travels with the texts:
    each completion is scored against the very prompt it was sampled from.
    """
    if not prompts:
        return []
    n, encoded = sampling.n, [policy.template.prompt_ids(p) for p in prompts]
    pending: list[Pending | None] = [None] * (len(prompts) * n)
    finished: list[list[int]] = [[] for _ in pending]

    def on_finished(row: int, token_ids: list[int], finish_reason: FinishReason) -> None:
        completion = Completion(
            text=policy.template.decode(token_ids),
            finish_reason=finish_reason,
            tokens=len(token_ids),
        )
        finished[row] = token_ids
        pending[row] = scorer.submit(prompts[row // n], completion, budget)

    sample(
        policy.model,
        [ids for ids in encoded for _ in range(n)],
        [sample_seed(*seeds, p.id, k) for p in prompts for k in range(n)],
        params=sampling,
        max_new_tokens=budget.completion_tokens,
        stop_ids=policy.stop_ids,
        pad_id=policy.pad_id,
        on_finished=on_finished,
    )
    groups = []
    for number, (prompt, ids) in enumerate(zip(prompts, encoded, strict=True)):
        rows = range(number * n, (number + 1) * n)
        samples = [_rollout(finished[row], pending[row], scorer) for row in rows]
        rewards = scorer.group(prompt, [(s.completion, s.reward) for s in samples])
        rewarded = [s.rewarded(r) for s, r in zip(samples, rewards, strict=True)]
        groups.append(Group(prompt, ids, rewarded))
    return groups


def _rollout(token_ids: list[int], pending: Pending | None, scorer: Scorer) -> Rollout:
    assert pending is not None, "the sampler must report every row"
    return Rollout(token_ids, pending.item.completion, scorer.total(pending))
