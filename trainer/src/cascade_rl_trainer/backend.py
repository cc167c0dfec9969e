"""What the cascade's walk asks of a backend: three calls, folders in, folders out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from cascade_rl.config.resolved import ResolvedCascade, ResolvedStage
from cascade_rl.types import Record
from cascade_rl_trainer.report.matrix import EvalSample


class StageResult(Record):
    """How a stage ended. ``model`` of the stage lies in ``folder / "model"``."""

    steps: int
    ended: str = "all steps"
    warnings: tuple[str, ...] = ()


#: Called after each step with the stage's name, the steps done and in all, and the step's
#: figures: the progress bar, or nothing.
OnStep = Callable[[str, int, int, Mapping[str, object]], None]


class Backend(Protocol):
    """Runs stages. Announced in the entry point group ``cascade_rl.backends``."""

    def prepare(self, cascade: ResolvedCascade, folder: Path) -> None:
        """Write the first stage's model to ``folder``; raises ``RunError``."""

    def run_stage(
        self,
        cascade: ResolvedCascade,
        stage: ResolvedStage,
        model: Path,
        folder: Path,
        on_step: OnStep,
    ) -> StageResult:
        """Train one stage from ``model``, leaving ``folder / "model"`` and the logs.

        Goes on from the last checkpoint in ``folder`` if there is one. Raises ``RunError``.
        """

    def evaluate(self, cascade: ResolvedCascade, model: Path, on_step: OnStep) -> list[EvalSample]:
        """Completions of held-out prompts of every evaluated domain, scored."""
