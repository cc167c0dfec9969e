"""Batched sampling with a key-value cache, and word of every completion when it is done.

Not a server: one call samples one batch. A row's tokens depend on its prompt, its seed and
the weights, not on the rows beside it (up to rounding in the matrix products).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cascade_rl.types import FinishReason, SamplingParams
from cascade_rl_trainer.local.choose import choose
from cascade_rl_trainer.local.decoder import Decoder, decoder_for
from cascade_rl_trainer.local.padding import pad_left
from cascade_rl_trainer.local.randoms import uniforms
from cascade_rl_trainer.model.load import Policy

#: Called with (row, token ids, finish reason) as soon as a row is done.
OnFinished = Callable[[int, list[int], FinishReason], None]

# Finished rows are dropped from the cache once they are this share of it: dropping copies
# the rest, which costs about as much as one step of attention.
_WORTH_DROPPING = 0.15


@dataclass(frozen=True)
class Sampled:
    """One completion. ``token_ids`` ends with the stop token when the reason is ``stop``."""

    token_ids: list[int]
    finish_reason: FinishReason


def sample_groups(
    policy: Policy,
    prompts: Sequence[Sequence[int]],
    params: SamplingParams,
    *,
    max_new_tokens: int | Sequence[int],
    seeds: Sequence[int],
    on_finished: OnFinished | None = None,
) -> list[Sampled]:
    """``params.n`` completions of each prompt, a prompt's completions next to each other.

    Row ``i * n + k`` is completion ``k`` of prompt ``i``; ``seeds`` has one integer a row,
    ``max_new_tokens`` is one number or one a row. See ``sample``.
    """
    rows = [prompt for prompt in prompts for _ in range(params.n)]
    return sample(
        policy.model,
        rows,
        seeds,
        params=params,
        max_new_tokens=max_new_tokens,
        stop_ids=policy.stop_ids,
        pad_id=policy.pad_id,
        on_finished=on_finished,
    )


@torch.no_grad()
def sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    seeds: Sequence[int],
    *,
    params: SamplingParams,
    max_new_tokens: int | Sequence[int],
    stop_ids: Sequence[int],
    pad_id: int,
    on_finished: OnFinished | None = None,
) -> list[Sampled]:
    """One completion a row of ``prompts`` (token ids), in order; ``params.n`` is not used.

    Rows with equal prompts share one prefill: give a group as n equal rows, next to each
    other or not. ``seeds`` has one integer a row. ``max_new_tokens`` (one number, or one a
    row) includes the stop token. Temperature 0 is greedy. ``on_finished`` is called on this
    thread while the other rows go on. Raises ``ValueError`` for lengths that do not fit.
    """
    limits = _limits(prompts, seeds, max_new_tokens)
    if not prompts:
        return []
    model.eval()  # dropout would make the samples come from another policy
    device = next(model.parameters()).device
    batch = _Batch(limits, seeds, stop_ids, device, on_finished)
    width = max(map(len, prompts)) + max(limits)
    decoder = decoder_for(model, width)
    logits = _prefill(decoder, prompts, pad_id, device)
    while True:
        tokens = choose(logits, batch.uniform(), params)
        dropped = batch.take(tokens)
        if batch.empty:
            return batch.results()
        if dropped is not None:
            decoder.select(dropped)
            tokens = tokens[dropped]
        logits = decoder.step(tokens)


def _limits(
    prompts: Sequence[Sequence[int]], seeds: Sequence[int], max_new_tokens: int | Sequence[int]
) -> list[int]:
    if isinstance(max_new_tokens, int):
        limits = [max_new_tokens] * len(prompts)
    else:
        limits = list(max_new_tokens)
    if not len(prompts) == len(seeds) == len(limits):
        raise ValueError(f"{len(prompts)} prompts, {len(seeds)} seeds, {len(limits)} limits")
    if any(limit < 1 for limit in limits):
        raise ValueError(f"max_new_tokens must be at least 1, got {min(limits)}")
    if any(not prompt for prompt in prompts):
        raise ValueError(f"prompt {[not p for p in prompts].index(True)} has no tokens")
    return limits


def _prefill(
    decoder: Decoder, prompts: Sequence[Sequence[int]], pad_id: int, device: Any
) -> Tensor:
    """Read each distinct prompt once, then give every row its copy of the cache."""
    distinct = {tuple(prompt): None for prompt in prompts}
    place = {prompt: i for i, prompt in enumerate(distinct)}
    ids, mask = pad_left([list(p) for p in distinct], pad_id)
    logits = decoder.prefill(ids.to(device), mask.to(device))
    rows = torch.tensor([place[tuple(p)] for p in prompts], device=device)
    decoder.select(rows)
    return logits[rows]


class _Batch:
    """Which rows are still sampled, what they wrote, and who is told."""

    def __init__(
        self,
        limits: Sequence[int],
        seeds: Sequence[int],
        stop_ids: Sequence[int],
        device: Any,
        on_finished: OnFinished | None,
    ) -> None:
        self._limits = torch.tensor(limits, device=device)
        self._stops = torch.tensor(sorted(stop_ids), device=device)
        self._uniforms = uniforms(seeds, max(limits)).to(device)
        self._written = torch.zeros((len(limits), max(limits)), dtype=torch.long, device=device)
        self._present = torch.arange(len(limits), device=device)  # rows in the decoder
        self._done = torch.zeros(len(limits), dtype=torch.bool, device=device)
        self._results: dict[int, Sampled] = {}
        self._on_finished = on_finished
        self._step = 0

    def uniform(self) -> Tensor:
        """This step's number for each row in the decoder."""
        return self._uniforms[self._present, self._step]

    @property
    def empty(self) -> bool:
        """Whether every row is done."""
        return len(self._results) == len(self._limits)

    def take(self, tokens: Tensor) -> Tensor | None:
        """Note one token a row; the places of the rows to go on with, if that is fewer."""
        self._written[self._present, self._step] = tokens
        self._step += 1
        stopped = torch.isin(tokens, self._stops)
        ended = (stopped | (self._limits[self._present] <= self._step)) & ~self._done
        if not ended.any():
            return None
        self._report(self._present[ended].tolist(), stopped[ended].tolist())
        self._done |= ended
        if self.empty or int(self._done.sum()) < _WORTH_DROPPING * len(self._done):
            return None
        kept = (~self._done).nonzero().squeeze(1)
        self._present, self._done = self._present[kept], self._done[kept]
        return kept

    def _report(self, rows: list[int], stopped: list[bool]) -> None:
        written = self._written[rows, : self._step].tolist()
        for row, ids, stop in zip(rows, written, stopped, strict=True):
            self._results[row] = Sampled(ids, "stop" if stop else "length")
            if self._on_finished is not None:
                self._on_finished(row, ids, self._results[row].finish_reason)

    def results(self) -> list[Sampled]:
        """The completions in the order of the rows."""
        return [self._results[row] for row in range(len(self._limits))]
