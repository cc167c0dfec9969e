"""One strictly on-policy update: log-probabilities, loss, gradient, one AdamW step.

The batch was sampled from these very weights and is used once, so the importance ratio is 1
and the loss needs neither old log-probabilities nor clipping (paper, eq. 1).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim import Optimizer

from cascade_rl.errors import RunError
from cascade_rl_trainer.algorithm.loss import policy_gradient_loss
from cascade_rl_trainer.local.forward import TrainRow, completion_logprobs, micro_batches
from cascade_rl_trainer.model.load import Policy

__all__ = ["TrainRow", "UpdateStats", "accumulate", "policy_update"]

#: (log-probabilities, mask, places of the rows) -> the micro-batch's part of the loss.
LossPart = Callable[[Tensor, Tensor, list[int]], Tensor]


@dataclass(frozen=True)
class UpdateStats:
    """What one update did. ``tokens`` is the loss's divisor, in completion tokens.

    ``used_rows`` went through the model: those that take part and have an advantage.
    ``entropy`` is the mean of -log p over their tokens (nats), an estimate of the policy's
    entropy at the sampling temperature. None where nothing was used; then no step was taken.
    """

    loss: float
    grad_norm: float | None
    entropy: float | None
    tokens: int
    rows: int
    used_rows: int
    seconds: float


def policy_update(
    policy: Policy,
    optimizer: Optimizer,
    rows: Sequence[TrainRow],
    advantages: Sequence[float],
    take_part: Sequence[bool],
    *,
    temperature: float,
    lr: float,
    micro_batch: int,
    max_grad_norm: float,
    where: str = "",
) -> UpdateStats:
    """Update the weights once on a scored batch, ``micro_batch`` rows at a time.

    Rows that take part count in the divisor; those with advantage 0 have no gradient and
    are not computed. A batch without any other row leaves weights and optimizer untouched.
    ``where`` begins every error: raises ``RunError`` when the loss or the gradient is not
    finite, before any weight has changed, and ``ValueError`` for a temperature of 0.
    """
    if temperature <= 0:
        raise ValueError(f"greedy samples (temperature {temperature}) cannot be trained on")
    if not len(rows) == len(advantages) == len(take_part):
        raise ValueError(f"{len(rows)} rows, {len(advantages)} advantages, {len(take_part)} flags")
    parts = [row for row, part in zip(rows, take_part, strict=True) if part]
    divisor = sum(len(row.completion_ids) for row in parts)
    used = [i for i, a in enumerate(advantages) if take_part[i] and a != 0]
    used = [i for i in used if rows[i].completion_ids]
    weights = torch.tensor([advantages[i] for i in used], device=policy.device)

    def loss_of(logprobs: Tensor, mask: Tensor, places: list[int]) -> Tensor:
        return policy_gradient_loss(logprobs, weights[places], mask, divisor)

    return accumulate(
        policy,
        optimizer,
        [rows[i] for i in used],
        loss_of,
        temperature=temperature,
        lr=lr,
        micro_batch=micro_batch,
        max_grad_norm=max_grad_norm,
        where=where,
        tokens=divisor,
        rows_given=len(rows),
    )


def accumulate(
    policy: Policy,
    optimizer: Optimizer,
    rows: Sequence[TrainRow],
    loss_of: LossPart,
    *,
    temperature: float,
    lr: float,
    micro_batch: int,
    max_grad_norm: float,
    where: str,
    tokens: int,
    rows_given: int,
) -> UpdateStats:
    """Sum the gradient of ``loss_of`` over micro-batches, clip it, and step once."""
    started = time.perf_counter()
    policy.model.eval()  # with dropout, the update would be of another policy
    optimizer.zero_grad(set_to_none=True)
    loss, surprise, seen = 0.0, 0.0, 0
    for places in micro_batches(rows, micro_batch):
        batch = [rows[place] for place in places]
        logprobs, mask = completion_logprobs(policy.model, batch, temperature, policy.pad_id)
        part = loss_of(logprobs, mask, places)
        _require_finite("loss", float(part.detach()), where, optimizer)
        part.backward()  # type: ignore[no-untyped-call]
        loss += float(part.detach())
        surprise -= float(logprobs.detach()[mask].sum(dtype=torch.float64))
        seen += int(mask.sum())
    norm = _step(policy, optimizer, lr, max_grad_norm, where) if rows else None
    return UpdateStats(
        loss=loss,
        grad_norm=norm,
        entropy=surprise / seen if seen else None,
        tokens=tokens,
        rows=rows_given,
        used_rows=len(rows),
        seconds=time.perf_counter() - started,
    )


def _step(
    policy: Policy, optimizer: Optimizer, lr: float, max_grad_norm: float, where: str
) -> float:
    trained = [p for p in policy.model.parameters() if p.requires_grad]
    norm = float(torch.nn.utils.clip_grad_norm_(trained, max_grad_norm))
    _require_finite("gradient norm", norm, where, optimizer)
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return norm


def _require_finite(what: str, value: float, where: str, optimizer: Optimizer) -> None:
    if not math.isfinite(value):
        optimizer.zero_grad(set_to_none=True)
        raise RunError(
            f"{where}: the {what} is {value}; the weights were left as they were. "
            "A lower learning rate or more warm-up usually helps"
        )
