"""One step of supervised fine-tuning: imitate completions, prompts excluded from the loss."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.optim import Optimizer

from cascade_rl_trainer.algorithm.loss import sft_loss
from cascade_rl_trainer.local.forward import TrainRow
from cascade_rl_trainer.local.update import UpdateStats, accumulate
from cascade_rl_trainer.model.load import Policy


def sft_update(
    policy: Policy,
    optimizer: Optimizer,
    batch: Sequence[TrainRow],
    *,
    lr: float,
    micro_batch: int,
    max_grad_norm: float,
    where: str = "",
) -> UpdateStats:
    """Update the weights once on a batch of demonstrations.

    The loss is the mean over the batch's completion tokens, whatever the micro-batch.
    Raises ``RunError`` as ``policy_update`` does.
    """
    divisor = sum(len(row.completion_ids) for row in batch)

    def loss_of(logprobs: Tensor, mask: Tensor, _places: list[int]) -> Tensor:
        return sft_loss(logprobs, mask, divisor)

    return accumulate(
        policy,
        optimizer,
        batch,
        loss_of,
        temperature=1.0,
        lr=lr,
        micro_batch=micro_batch,
        max_grad_norm=max_grad_norm,
        where=where,
        tokens=divisor,
        rows_given=len(batch),
    )
