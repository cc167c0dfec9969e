"""How verl samples one completion for us: our template, our limits, any engine of verl's.

verl's own loop applies one chat template and one sampling to all prompts; here the request that
comes with the prompt decides, so that modes can differ within a batch and values from step to
step.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput
from verl.utils.profiler import simple_timer

from cascade_rl.types import SamplingParams
from cascade_rl_trainer.algorithm.randomness import sample_seed
from cascade_rl_trainer.verl.job import job_of
from cascade_rl_trainer.verl.names import ROLLOUT
from cascade_rl_trainer.verl.tokens import template_of
from cascade_rl_trainer.verl.wire import COLUMN, Request


class CascadeAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """Samples one completion of a request."""

    async def run(
        self, sampling_params: dict[str, Any], session_id: int = 0, **row: Any
    ) -> AgentLoopOutput:
        """One completion; raises ``RuntimeError`` when the engine gave none."""
        request = Request.decode(row[COLUMN])
        kind = job_of(self.config).cascade.config.model.chat_template
        template = template_of(self.config.actor_rollout_ref.model.path, kind)
        limit = request.budget.completion_tokens
        asked = sampling(request.sampling, limit, template.stop_ids) | {
            "logprobs": sampling_params.get("logprobs", False)
        }
        if self.rollout_config.name == ROLLOUT:
            asked["seed"] = sample_seed(*request.seeds, request.prompt.id, int(session_id))
        prompt_ids, metrics = template.prompt_ids(request.prompt), {"num_preempted": -1}
        with simple_timer("generate_sequences", metrics):
            output = await self.server_manager.generate(
                request_id=uuid4().hex, prompt_ids=prompt_ids, sampling_params=asked
            )
        token_ids = list(output.token_ids[:limit])
        if not token_ids or output.stop_reason in ("aborted", "abort"):
            raise RuntimeError(
                f"the rollout engine gave no completion of prompt {request.prompt.id!r} "
                f"(stop reason {output.stop_reason}, {len(token_ids)} tokens)"
            )
        return AgentLoopOutput(
            prompt_ids=prompt_ids,
            response_ids=token_ids,
            response_mask=[1] * len(token_ids),
            response_logprobs=output.log_probs[:limit] if output.log_probs else None,
            num_turns=2,
            metrics=metrics,
            extra_fields={**output.extra_fields, "turn_scores": [], "tool_rewards": []},
        )


def sampling(params: SamplingParams, limit: int, stop_ids: tuple[int, ...]) -> dict[str, Any]:
    """Sampling parameters in the words that vLLM and SGLang share under verl."""
    greedy = params.temperature == 0
    return {
        "temperature": params.temperature,
        "top_p": 1.0 if greedy else params.top_p,
        "top_k": -1 if greedy or params.top_k == 0 else params.top_k,
        "repetition_penalty": 1.0,
        "max_tokens": limit,
        "stop_token_ids": list(stop_ids),
    }
