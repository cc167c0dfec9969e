"""What one verl run is told, as a file that each of its processes reads, and how it ended."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from cascade_rl.config.resolved import ResolvedCascade, ResolvedDomain, ResolvedStage
from cascade_rl.types import Record
from cascade_rl_trainer.state.files import write_json, write_text
from cascade_rl_trainer.verl.names import TRAINER_MODE

OUTCOME_FILE = "outcome.json"


class Job(Record):
    """One verl run. ``folder`` (absolute) gets the logs, ``outcome.json`` and checkpoints.

    ``stage`` is the index of the stage to train; None is an evaluation of every domain.
    """

    cascade: ResolvedCascade
    folder: str
    stage: int | None = None

    @property
    def trained(self) -> ResolvedStage:
        """The stage to train."""
        assert self.stage is not None, "an evaluation trains no stage"
        return self.cascade.stages[self.stage]

    @property
    def domains(self) -> tuple[ResolvedDomain, ...]:
        """The domains whose prompts are sampled."""
        return self.cascade.evaluation if self.stage is None else self.trained.domains

    def write(self, path: Path) -> None:
        """As JSON, for ``read_job``."""
        write_text(path, self.model_dump_json(indent=2) + "\n")


@cache
def read_job(path: str) -> Job:
    """The job in a file, parsed once a process."""
    return Job.model_validate_json(Path(path).read_text(encoding="utf-8"))


def job_of(config: Any) -> Job:
    """The job that a verl configuration points at."""
    return read_job(str(config.trainer.v1[TRAINER_MODE].job))


def write_outcome(folder: Path, **facts: Any) -> None:
    """Say how a run ended, for the process that started it."""
    write_json(folder / OUTCOME_FILE, facts)


def read_outcome(folder: Path) -> dict[str, Any]:
    """What ``write_outcome`` wrote; {} where the run did not come so far."""
    path = folder / OUTCOME_FILE
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    return found
