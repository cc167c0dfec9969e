"""Reads a run folder into what the report shows. A run that is under way has a report too."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from cascade_rl.config.schema import GateConfig
from cascade_rl.errors import RunError
from cascade_rl_trainer.report import matrix as matrix_file
from cascade_rl_trainer.report.gates import GateResult, check_gates
from cascade_rl_trainer.report.matrix import Matrix
from cascade_rl_trainer.state import progress
from cascade_rl_trainer.state.log import parse_line, read_log
from cascade_rl_trainer.state.progress import RunRecord, StageDone

_FIRST, _LAST = 32, 256  # rollouts of a log that examples are chosen from
_GATES = TypeAdapter(tuple[GateConfig, ...])


@dataclass(frozen=True)
class Rollout:
    """An example completion, and why it is shown."""

    shown_as: str
    record: dict[str, Any]


@dataclass(frozen=True)
class StageData:
    """What is known of one stage. ``metrics`` holds one record a step."""

    name: str
    kind: str
    domains: tuple[str, ...]
    steps_planned: int
    done: StageDone | None = None
    metrics: list[dict[str, Any]] = field(default_factory=list)
    rollouts: list[Rollout] = field(default_factory=list)
    gates: list[GateResult] = field(default_factory=list)

    @property
    def unscored(self) -> int:
        """Samples without a score, over all steps."""
        return sum(record.get("unscored") or 0 for record in self.metrics)

    @property
    def unscored_by_status(self) -> dict[str, int]:
        """The same by what was the matter: timeout, error, abstained, bad_prompt."""
        total: Counter[str] = Counter()
        for record in self.metrics:
            total.update(record.get("unscored_by_status") or {})
        return dict(sorted(total.items()))

    @property
    def warnings(self) -> list[str]:
        """The stage's warnings, without those that only repeat a gate's result."""
        repeated = {gate.message for gate in self.gates}
        return [w for w in (self.done.warnings if self.done else ()) if w not in repeated]


@dataclass(frozen=True)
class RunData:
    """Everything that the report shows."""

    record: RunRecord
    matrix: Matrix | None
    stages: list[StageData]


def read_run(run_dir: Path) -> RunData:
    """Read ``run.json``, ``matrix.json`` and each stage's logs.

    Raises ``RunError`` when no run was started there or a record is damaged, ``DataError``
    when a log is.
    """
    record = progress.load(run_dir)
    if record is None:
        raise RunError(f"{run_dir} holds no run: there is no {progress.RUN_FILE} in it")
    matrix = matrix_file.load(run_dir / "matrix.json")
    planned = record.fingerprint.cascade["stages"]
    assert isinstance(planned, list)
    stages = [_read_stage(run_dir / "stages", config, record, matrix) for config in planned]
    return RunData(record, matrix, stages)


def choose_rollouts(
    first: Iterable[dict[str, Any]], last: Iterable[dict[str, Any]]
) -> list[Rollout]:
    """A few telling rollouts: an early one; of the last ones the best, the worst, the odd ones."""
    late = list(last)[::-1]  # of equals, the latest
    scored = [r for r in late if number(r.get("reward")) is not None]
    found = [
        ("early", next(iter(first), None)),
        ("late, highest reward", max(scored, key=lambda r: r["reward"], default=None)),
        ("late, lowest reward", min(scored, key=lambda r: r["reward"], default=None)),
        ("late, truncated", next((r for r in late if r.get("truncated")), None)),
        ("late, not scored", next((r for r in late if _is_unscored(r)), None)),
    ]
    chosen: list[Rollout] = []
    for shown_as, record in found:
        if record is not None and all(record is not rollout.record for rollout in chosen):
            chosen.append(Rollout(shown_as, record))
    return chosen


def number(value: Any) -> float | None:
    """A finite number, or None: logs spell NaN and infinity as strings."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _is_unscored(record: dict[str, Any]) -> bool:
    return bool(record.get("status", "scored") != "scored")


def _read_stage(folder: Path, config: Any, record: RunRecord, matrix: Matrix | None) -> StageData:
    name = config["name"]
    has_row = matrix is not None and name in matrix.stages
    gates = _GATES.validate_python(config.get("gates") or ())
    domain = config.get("domain")
    return StageData(
        name=name,
        kind=config["kind"],
        domains=(domain,) if domain else tuple(config.get("domains") or ()),
        steps_planned=config["steps"],
        done=next((s for s in record.done if s.name == name), None),
        metrics=list(read_log(folder / name / "metrics.jsonl")),
        rollouts=_read_rollouts(folder / name / "rollouts.jsonl"),
        gates=check_gates(matrix, name, gates) if matrix and has_row else [],
    )


def _read_rollouts(path: Path) -> list[Rollout]:
    """Examples of a log of any size: only its first and last lines are parsed."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        whole = (line for line in file if line.endswith(b"\n"))
        first = list(islice(whole, _FIRST))
        last = list(deque(whole, _LAST)) or first[-max(1, len(first) // 2) :]
    early = [parse_line(path, line, "near the start") for line in first]
    late = [parse_line(path, line, "near the end") for line in last]
    return choose_rollouts(early, late)
