"""Gates: did a stage cost another domain more than the cascade file allows? Pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from cascade_rl.config.schema import GateConfig
from cascade_rl.errors import RunError
from cascade_rl.types import Record
from cascade_rl_trainer.report.matrix import Matrix, column

#: 0.8 - 0.7 is above 0.1 in binary; a drop of exactly the limit is allowed.
_ROUNDING = 1e-9


class GateResult(Record):
    """A gate's outcome. ``drop`` is best minus score (negative: a gain), None if not measurable.

    ``stderr`` is that of the drop, as if the two rows were independent; they share their
    prompts, so it errs on the large side.
    """

    stage: str
    domain: str
    action: Literal["warn", "stop"]
    max_drop: float
    score: float | None = None
    best: float | None = None
    best_stage: str | None = None
    drop: float | None = None
    stderr: float | None = None

    @property
    def failed(self) -> bool:
        """Whether the domain lost more than is allowed."""
        return self.drop is not None and self.drop > self.max_drop + _ROUNDING

    @property
    def message(self) -> str:
        """The outcome in one sentence, in percentage points."""
        gate = f"gate on {self.domain} after {self.stage}"
        if self.drop is None or self.best is None or self.score is None:
            return f"{gate}: not checked, because there are no two scores to compare"
        error = "" if self.stderr is None else f" ± {100 * self.stderr:.1f}"
        fell = "fell" if self.drop > 0 else "rose" if self.drop < 0 else "changed"
        return (
            f"{gate}: {fell} by {100 * abs(self.drop):.1f}{error} points, from "
            f"{100 * self.best:.1f} % ({self.best_stage}) to {100 * self.score:.1f} %; "
            f"allowed {100 * self.max_drop:.1f}: {'FAILED' if self.failed else 'passed'}"
        )


def check_gates(matrix: Matrix, stage: str, gates: Iterable[GateConfig]) -> list[GateResult]:
    """Compare each gate's domain after ``stage`` with the best row before it.

    Raises ``RunError`` for a domain or a stage that the matrix does not have.
    """
    return [_check(matrix, _index("stage", stage, matrix.stages), gate) for gate in gates]


def _check(matrix: Matrix, row: int, gate: GateConfig) -> GateResult:
    index = _index("domain", gate.domain, matrix.domains)
    scores, errors = column(matrix.scores, index), column(matrix.stderr, index)
    asked = GateResult(
        stage=matrix.stages[row],
        domain=gate.domain,
        action=gate.action,
        max_drop=gate.max_drop,
        score=scores[row],
    )
    best, best_row = max(
        ((score, i) for i, score in enumerate(scores[:row]) if score is not None),
        key=lambda pair: pair[0],
        default=(None, row),
    )
    score = scores[row]
    if best is None or score is None:
        return asked
    now, then = errors[row], errors[best_row]
    return asked.model_copy(
        update={
            "best": best,
            "best_stage": matrix.stages[best_row],
            "drop": best - score,
            "stderr": None if now is None or then is None else math.hypot(now, then),
        }
    )


def _index(kind: str, name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        raise RunError(f"the forgetting matrix has no {kind} {name!r}; it has: {', '.join(names)}")
    return names.index(name)
