"""What a stage under way keeps on disk: logs, optimizer, checkpoints, and the model at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import torch

from cascade_rl.config.schema import OptimizerConfig
from cascade_rl_trainer.model.load import (
    Policy,
    load_trainable,
    save_policy,
    trainable_parameters,
)
from cascade_rl_trainer.state import checkpoint
from cascade_rl_trainer.state.files import replaced_folder
from cascade_rl_trainer.state.log import JsonLog


class StageState:
    """The files of one stage and the optimizer that goes with them."""

    def __init__(self, folder: Path, policy: Policy, config: OptimizerConfig, every: int) -> None:
        self._folder, self._policy, self._every = folder, policy, every
        self.metrics = JsonLog(folder / "metrics.jsonl")
        self.rollouts = JsonLog(folder / "rollouts.jsonl")
        self.optimizer = torch.optim.AdamW(
            list(trainable_parameters(policy).values()),
            lr=config.lr,
            betas=config.betas,
            weight_decay=config.weight_decay,
        )

    def resume(self) -> tuple[int, dict[str, Any] | None]:
        """(next step, the saved record), or (0, None) where the stage starts.

        Log lines past the checkpoint are cut. Raises ``RunError`` for a corrupt checkpoint.
        """
        found = checkpoint.latest(self._folder)
        if found is None:
            self.metrics.cut(0)
            self.rollouts.cut(0)
            return 0, None
        device = str(self._policy.device)
        load_trainable(self._policy, found.load("model", device))
        self.optimizer.load_state_dict(found.load("optimizer", device))
        self.metrics.cut(found.record["metrics"])
        self.rollouts.cut(found.record["rollouts"])
        return found.step, found.record

    def is_due(self, step: int) -> bool:
        """Whether a checkpoint belongs after so many steps."""
        return step % self._every == 0

    def save(self, step: int, record: dict[str, Any]) -> None:
        """Make the present state the one to resume from."""
        parts = {
            "model": {n: p.detach() for n, p in trainable_parameters(self._policy).items()},
            "optimizer": self.optimizer.state_dict(),
        }
        positions = {"metrics": self.metrics.position(), "rollouts": self.rollouts.position()}
        checkpoint.save(self._folder, step, parts, {**record, **positions})

    def finish(self) -> None:
        """Write the stage's model; its checkpoint stays until the run has recorded the stage."""
        with replaced_folder(self._folder / "model") as new:
            save_policy(self._policy, new)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.metrics.close()
        self.rollouts.close()
