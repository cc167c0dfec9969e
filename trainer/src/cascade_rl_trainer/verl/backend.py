"""The verl backend: each GRPO stage, and each evaluation, is a run of verl in a process of its own.

What lies in a stage's folder is the same as with the local backend, plus what verl was told
(``verl.yaml``, ``job.json``, ``prompts.parquet``) and what it said (``verl.log``).
"""

from __future__ import annotations

from pathlib import Path

from cascade_rl.config.resolved import ResolvedCascade, ResolvedStage
from cascade_rl.errors import ConfigError
from cascade_rl.registry import Registry
from cascade_rl_trainer.backend import OnStep, StageResult
from cascade_rl_trainer.local.backend import LocalBackend, device_of
from cascade_rl_trainer.report.matrix import EvalSample
from cascade_rl_trainer.verl.version import require_verl


class VerlBackend:
    """Implements ``cascade_rl_trainer.backend.Backend``. Importing it loads neither torch nor verl.

    On a CPU, and for ``sft`` stages anywhere, the local backend's own code is used where no
    rollout engine is needed: SFT, the first model, evaluations.
    """

    def __init__(self, registry: Registry | None = None) -> None:
        self._registry = registry or Registry()
        self._local = LocalBackend(self._registry)

    def prepare(self, cascade: ResolvedCascade, folder: Path) -> None:
        """Write the first stage's model; see ``Backend``. A model that is there is not loaded."""
        from cascade_rl_trainer.verl.first_model import prepare
        from cascade_rl_trainer.verl.plan import require_runnable

        require_verl()
        _check_model(cascade)
        require_runnable(cascade)
        if not prepare(cascade.config.model, folder):
            self._local.prepare(cascade, folder)

    def run_stage(
        self,
        cascade: ResolvedCascade,
        stage: ResolvedStage,
        model: Path,
        folder: Path,
        on_step: OnStep,
    ) -> StageResult:
        """Train one stage; see ``Backend``."""
        if stage.stage.kind == "sft":
            return self._local.run_stage(cascade, stage, model, folder, on_step)
        from cascade_rl_trainer.verl.stage import train

        require_verl()
        _check_model(cascade)
        return train(cascade, stage, model, folder, on_step, self._registry)

    def evaluate(self, cascade: ResolvedCascade, model: Path, on_step: OnStep) -> list[EvalSample]:
        """Every evaluated domain's samples; see ``Backend``."""
        if device_of(cascade.config) == "cpu":
            return self._local.evaluate(cascade, model, on_step)
        from cascade_rl_trainer.verl.stage import evaluate

        require_verl()
        return evaluate(cascade, model, on_step, self._registry)

    def plan(self, cascade: ResolvedCascade) -> str:
        """The command and configuration of each stage; starts nothing. Raises ``ConfigError``."""
        from cascade_rl_trainer.verl.plan import plan

        _check_model(cascade)
        return plan(cascade)


def _check_model(cascade: ResolvedCascade) -> None:
    if cascade.config.model.lora is not None:
        raise ConfigError(
            "model.lora is of the local backend; with verl, set it in the verl section: "
            "verl: {actor_rollout_ref: {model: {lora_rank: 32, lora: {merge: true}}}}"
        )
