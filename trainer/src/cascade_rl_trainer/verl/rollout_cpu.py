"""A rollout engine for verl on a CPU: the local backend's sampler in a Ray actor.

The seed of a completion comes with its request, so that the same weights write the same texts
here and in the local backend. For tests, laptops and debugging; no server, one batch at a time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ray
import torch
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

from cascade_rl.types import SamplingParams
from cascade_rl_trainer.local.forward import TrainRow, completion_logprobs
from cascade_rl_trainer.local.sampling import sample

GATHER_S = 0.05  # a batch starts once no request has come for so long
MOST_ROWS = 256


@dataclass(frozen=True)
class _Row:
    prompt_ids: list[int]
    params: SamplingParams
    limit: int
    stop_ids: tuple[int, ...]
    seed: int
    done: asyncio.Future[TokenOutput]


class CpuServer:
    """Holds a copy of the policy and samples from it."""

    def __init__(self, path: str, threads: int) -> None:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(threads)
        config = AutoConfig.from_pretrained(path)
        self._model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
        tokenizer = AutoTokenizer.from_pretrained(path)
        self._pad_id = tokenizer.pad_token_id or 0
        self._version: int | None = None
        self._waiting: list[_Row] = []
        self._worker: asyncio.Task[None] | None = None

    def load_weights(self, state: dict[str, torch.Tensor], version: int | None) -> None:
        """Replace the weights; raises ``RuntimeError`` when names are missing or unknown."""
        found = self._model.load_state_dict(state, strict=False)
        tied = set(getattr(self._model, "_tied_weights_keys", None) or ())
        missing = [name for name in found.missing_keys if name not in tied]
        if missing or found.unexpected_keys:
            raise RuntimeError(f"weights differ: {missing} missing, {found.unexpected_keys} new")
        self._version = version

    async def generate(
        self, prompt_ids: list[int], sampling_params: dict[str, Any], request_id: str, **_: Any
    ) -> TokenOutput:
        """One completion; requests that come together are sampled together."""
        asked = dict(sampling_params)
        row = _Row(
            prompt_ids=list(prompt_ids),
            params=SamplingParams(
                temperature=asked["temperature"],
                top_p=asked["top_p"],
                top_k=max(0, asked["top_k"]),
            ),
            limit=asked["max_tokens"],
            stop_ids=tuple(asked["stop_token_ids"]),
            seed=asked["seed"],
            done=asyncio.get_running_loop().create_future(),
        )
        self._waiting.append(row)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await row.done

    async def _work(self) -> None:
        while self._waiting:
            before = 0
            while before != len(self._waiting):
                before = len(self._waiting)
                await asyncio.sleep(GATHER_S)
            first = self._waiting[0]
            alike = [
                r for r in self._waiting
                if (r.params, r.stop_ids) == (first.params, first.stop_ids)
            ][:MOST_ROWS]  # fmt: skip
            self._waiting = [r for r in self._waiting if r not in alike]
            try:
                outputs = await asyncio.to_thread(self._sample, alike)
            except Exception as error:  # whoever waits must hear it
                for row in alike:
                    row.done.set_exception(error)
                continue
            for row, output in zip(alike, outputs, strict=True):
                row.done.set_result(output)

    @torch.no_grad()
    def _sample(self, rows: Sequence[_Row]) -> list[TokenOutput]:
        prompts = [row.prompt_ids for row in rows]
        sampled = sample(
            self._model,
            prompts,
            [row.seed for row in rows],
            params=rows[0].params,
            max_new_tokens=[row.limit for row in rows],
            stop_ids=rows[0].stop_ids,
            pad_id=self._pad_id,
        )
        ids = [s.token_ids for s in sampled]
        temperature = rows[0].params.temperature or 1.0
        both = [TrainRow(p, i) for p, i in zip(prompts, ids, strict=True)]
        logprobs, mask = completion_logprobs(self._model, both, temperature, self._pad_id)
        return [
            TokenOutput(
                token_ids=token_ids,
                log_probs=values[kept].tolist(),
                stop_reason="completed",
                extra_fields={"global_steps": self._version},
            )
            for token_ids, values, kept in zip(ids, logprobs, mask, strict=True)
        ]

    # What verl asks of every server, and a sampler without a cache has no use for.
    async def wake_up(self, **_: Any) -> None: ...
    async def sleep(self) -> None: ...
    async def clear_kv_cache(self) -> None: ...
    async def release_kv_cache(self) -> None: ...
    async def resume_kv_cache(self) -> None: ...
    async def resume_generation(self) -> None: ...
    async def start_profile(self, **_: Any) -> None: ...
    async def stop_profile(self) -> None: ...
    async def abort_all_requests(self, **_: Any) -> None: ...


class CpuReplica(RolloutReplica):  # type: ignore[misc]
    """Starts the server's actor."""

    async def launch_servers(self) -> None:
        """See verl's ``RolloutReplica``."""
        path = self.model_config.path
        server = (
            ray.remote(CpuServer)
            .options(name=_name(self.replica_rank), num_cpus=0, max_concurrency=100_000)
            .remote(path, int(os.environ.get("OMP_NUM_THREADS", "1")))
        )
        self.servers.append(server)
        self._server_handle, self._server_address = server, _name(self.replica_rank)


class CpuRollout(BaseRollout):  # type: ignore[misc]
    """Lives in verl's training worker and hands its weights to the server."""

    def __init__(
        self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1, **_: Any
    ) -> None:
        super().__init__(config, model_config, device_mesh)
        self._rank = int(os.environ["RANK"]) if replica_rank == -1 else replica_rank

    async def resume(self, tags: list[str]) -> None:
        """Nothing was released."""

    async def release(self) -> None:
        """There is nothing to release."""

    @torch.no_grad()
    async def update_weights(
        self,
        weights: Any,
        global_steps: int | None = None,
        wire_format: str = "named_tensors",
        **_: Any,
    ) -> None:
        """Copy the named tensors to the server; every rank of a collective drains them."""
        if wire_format != "named_tensors":
            raise NotImplementedError(f"wire_format {wire_format!r}; ours is named_tensors")
        state = {name: tensor.detach().to("cpu", copy=True) for name, tensor in weights}
        await ray.get_actor(_name(self._rank)).load_weights.remote(state, global_steps)


def _name(rank: int) -> str:
    return f"{__name__}.{rank}"
