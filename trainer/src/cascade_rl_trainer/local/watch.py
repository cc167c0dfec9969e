"""What can silently ruin a stage, watched step by step: it stops, or says so once."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

from cascade_rl.config.schema import StageConfig
from cascade_rl.errors import RunError
from cascade_rl_trainer.local.rollout import Group

WINDOW = 1000  # samples over which unscored ones are counted
FEWEST_UNSCORED = 20
QUIET_STEPS = 20  # steps in a row without any signal before it is said
MOSTLY_TRUNCATED = 0.9


class Watch:
    """Counts unscored samples, steps without signal and truncated completions."""

    def __init__(self, config: StageConfig) -> None:
        self._config = config
        self._unscored: deque[str] = deque(maxlen=WINDOW)
        self._quiet, self._trained = 0, 0
        self._warnings: list[str] = []
        self._told = 0
        self.truncation: list[float] = []
        self.exhausted = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was said so far, each once."""
        return tuple(self._warnings)

    def warn(self, text: str | None) -> None:
        """Say something once."""
        if text and text not in self._warnings:
            self._warnings.append(text)

    def untold(self) -> list[str]:
        """The warnings since the last call."""
        fresh, self._told = self._warnings[self._told :], len(self._warnings)
        return fresh

    def step(self, groups: Sequence[Group], trained: bool) -> None:
        """Look at a step's groups. Raises ``RunError`` where the stage must stop."""
        rewards = [r for g in groups for r in g.rewards]
        self._unscored.extend("" if r.score is not None else r.status for r in rewards)
        self._check_unscored([r.reason for r in rewards if r.score is None])
        if rewards:
            self._check_truncation(sum(r.truncated for r in rewards) / len(rewards))
        self._trained += trained
        self._quiet = 0 if trained else self._quiet + 1
        self._check_signal(groups)

    def cancelled(self, names: Sequence[tuple[str, ...]], groups: int) -> None:
        """Warn about groups whose reward terms vary while their sum does not."""
        if names:
            self.warn(
                f"reward terms cancel each other: {', '.join(names[0])} vary but their weighted "
                f"sum is constant in {len(names)} of {groups} groups of a batch; such groups "
                "train on nothing"
            )

    def require_signal(self, name: str, steps: int) -> None:
        """Raise ``RunError`` for a stage that never updated the model."""
        if self._trained == 0:
            raise RunError(
                f"stage {name!r} trained on nothing: in all {steps} steps every group had equal "
                "rewards or no usable sample (no signal). Look at stages/"
                f"{name}/rollouts.jsonl; easier prompts, a higher temperature, a larger group "
                "(sampling.n) or a longer budget give groups that differ."
                + "".join(f"\n  {warning}" for warning in self._warnings)
            )

    def state(self) -> dict[str, Any]:
        """Everything needed to go on, as plain JSON."""
        return {
            "unscored": list(self._unscored),
            "quiet": self._quiet,
            "trained": self._trained,
            "warnings": self._warnings,
            "truncation": self.truncation,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        self._unscored = deque(state["unscored"], maxlen=WINDOW)
        self._quiet, self._trained = state["quiet"], state["trained"]
        self._warnings, self.truncation = list(state["warnings"]), list(state["truncation"])
        self._told = len(self._warnings)

    def _check_unscored(self, reasons: Sequence[str]) -> None:
        missing = Counter(status for status in self._unscored if status)
        count, limit = sum(missing.values()), self._config.max_unscored
        if count < FEWEST_UNSCORED or count <= limit * len(self._unscored):
            return
        by_status = ", ".join(f"{n} {status}" for status, n in sorted(missing.items()))
        raise RunError(
            f"stage {self._config.name!r}: {count} of the last {len(self._unscored)} samples were "
            f"not scored ({by_status}); at most {limit:.0%} may. The last reason: "
            f"{reasons[-1] if reasons else 'none in this step'}. They were left out of the "
            "training, not scored 0. Mend the pack or the data, or raise max_unscored."
        )

    def _check_truncation(self, rate: float) -> None:
        self.truncation.append(rate)
        if len(self.truncation) == 1 and rate > MOSTLY_TRUNCATED:
            self.warn(
                f"{rate:.0%} of the first batch was truncated: budget.completion_tokens is too "
                "short for this model; raise it"
            )

    def _check_signal(self, groups: Sequence[Group]) -> None:
        if self._quiet and self._config.no_signal == "stop":
            raise RunError(
                f"stage {self._config.name!r}: none of the {len(groups)} groups of this step "
                "carries signal, and no_signal is `stop`"
            )
        if self._quiet == QUIET_STEPS:
            self.warn(f"{QUIET_STEPS} steps in a row had no signal: every group's rewards equal")
