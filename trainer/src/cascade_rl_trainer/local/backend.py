"""The local backend: one process, torch and transformers, for a laptop or a single GPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cascade_rl.config.resolved import ResolvedCascade, ResolvedStage
from cascade_rl.config.schema import CascadeConfig
from cascade_rl.errors import ConfigError
from cascade_rl.registry import Registry
from cascade_rl_trainer.backend import OnStep, StageResult
from cascade_rl_trainer.report.matrix import EvalSample
from cascade_rl_trainer.state.files import replaced_folder

if TYPE_CHECKING:
    from cascade_rl_trainer.model.load import Policy

MODEL_CACHE = Path.home() / ".cache" / "cascade-rl" / "models"


class LocalBackend:
    """Implements ``cascade_rl_trainer.backend.Backend``. torch is imported by its calls only."""

    def __init__(self, registry: Registry | None = None) -> None:
        self._registry = registry or Registry()

    def prepare(self, cascade: ResolvedCascade, folder: Path) -> None:
        """Build, convert or load the first model and write it to ``folder``."""
        from cascade_rl_trainer.model.load import save_policy

        policy = _policy(cascade.config, None, lora=False, device="cpu")
        with replaced_folder(folder) as new:
            save_policy(policy, new)

    def run_stage(
        self,
        cascade: ResolvedCascade,
        stage: ResolvedStage,
        model: Path,
        folder: Path,
        on_step: OnStep,
    ) -> StageResult:
        """Train one stage; see ``Backend``."""
        run = {"sft": self._run_sft, "grpo": self._run_grpo}[stage.stage.kind]
        return run(cascade, stage, model, folder, on_step)

    def evaluate(self, cascade: ResolvedCascade, model: Path, on_step: OnStep) -> list[EvalSample]:
        """Every evaluated domain's samples; see ``Backend``."""
        from cascade_rl_trainer.local.evaluate import evaluate_domain

        config = cascade.config
        policy = _policy(config, model, lora=False)
        samples: list[EvalSample] = []
        for place, domain in enumerate(cascade.evaluation, 1):
            samples += evaluate_domain(config, domain, policy, self._registry)
            on_step("evaluation", place, len(cascade.evaluation), {"domain": domain.name})
        return samples

    def _run_sft(
        self,
        cascade: ResolvedCascade,
        stage: ResolvedStage,
        model: Path,
        folder: Path,
        on_step: OnStep,
    ) -> StageResult:
        from cascade_rl_trainer.local.sft_stage import run_sft

        shown = {
            domain.name: self._registry.open(domain.name, domain.options).load_demonstrations(
                "train"
            )
            for domain in stage.domains
        }
        policy = _policy(cascade.config, model)
        return run_sft(cascade, stage, policy, shown, folder, on_step)

    def _run_grpo(
        self,
        cascade: ResolvedCascade,
        stage: ResolvedStage,
        model: Path,
        folder: Path,
        on_step: OnStep,
    ) -> StageResult:
        from cascade_rl_trainer.local.grpo import GrpoStage
        from cascade_rl_trainer.local.scoring import Scorer

        config, domain = cascade.config, stage.domains[0]
        prompts = self._registry.open(domain.name, domain.options).load_prompts("train")
        policy = _policy(config, model)
        with Scorer(config, domain, stage.config.rewards, self._registry) as scorer:
            grpo = GrpoStage(cascade, stage, policy, scorer, prompts, folder)
            return grpo.run(on_step)


def _policy(
    config: CascadeConfig, folder: Path | None, *, lora: bool = True, device: str | None = None
) -> Policy:
    from transformers.utils.logging import disable_progress_bar

    from cascade_rl_trainer.model.load import load_policy

    disable_progress_bar()  # it would break ours
    model = config.model if lora else config.model.model_copy(update={"lora": None})
    return load_policy(
        model,
        seed=config.seed,
        cache_dir=MODEL_CACHE,
        device=device or device_of(config),
        folder=folder,
    )


def device_of(config: CascadeConfig) -> str:
    """The device that the config means here; raises ``ConfigError`` for one that is not there."""
    import torch

    available = torch.cuda.is_available()
    if config.device == "cuda" and not available:
        raise ConfigError(
            "device is `cuda`, but torch sees no CUDA device here; use `auto` or `cpu`"
        )
    if config.device == "auto":
        return "cuda" if available else "cpu"
    return config.device
