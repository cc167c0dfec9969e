"""The reward manager that verl's reward workers load by its import path.

verl asks for one sample at a time. Deadlines are the engine's; nothing that fails here or there
becomes a number.
"""

from __future__ import annotations

from typing import Any

from verl import DataProto
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from cascade_rl.types import Reward
from cascade_rl_trainer.verl.job import job_of
from cascade_rl_trainer.verl.judge import Judge
from cascade_rl_trainer.verl.tokens import template_of
from cascade_rl_trainer.verl.wire import COLUMN, Request, completion_of, to_wire


class CascadeRewardManager(RewardManagerBase):  # type: ignore[misc]
    """Scores samples with the packs, in process or at ``reward.reward_kwargs.service_url``."""

    def __init__(self, config: Any, tokenizer: Any, compute_score: Any, **_: Any) -> None:
        super().__init__(config, tokenizer, compute_score)
        job = job_of(config)
        kwargs = config.reward.get("reward_kwargs") or {}
        self._judge = Judge(job, kwargs.get("service_url"))
        self._template = template_of(
            config.actor_rollout_ref.model.path, job.cascade.config.model.chat_template
        )

    async def run_single(self, data: DataProto) -> dict[str, Any]:
        """The reward of the one sample in ``data`` (verl's wire form); never raises for it."""
        try:
            item = data[-1:][0]
            request = Request.decode(item.non_tensor_batch[COLUMN])
            length = int(item.non_tensor_batch["response_len"])
            token_ids = item.batch["responses"][:length].tolist()
            limit = request.budget.completion_tokens
            completion = completion_of(token_ids, limit, self._template)
            reward = await self._judge.reward(request, completion)
        except Exception as error:  # a fault of ours: the sample is not to blame
            reward = Reward.unscored("error", f"{type(error).__name__}: {error}"[:500])
        return to_wire(reward)
