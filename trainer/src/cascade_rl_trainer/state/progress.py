"""``run.json``: how far a run has come. One immutable record, replaced as a whole.

The record says which stages are done; how far the current one is stands in its checkpoint.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError

from cascade_rl.errors import RunError
from cascade_rl.types import Record
from cascade_rl_trainer.state.files import write_json
from cascade_rl_trainer.state.fingerprint import Fingerprint

RUN_FILE = "run.json"


class StageDone(Record):
    """A finished stage. ``ended`` says why it ended: all steps, or an ``advance`` rule."""

    name: str
    steps: int
    seconds: float
    ended: str = "all steps"
    warnings: tuple[str, ...] = ()


class RunRecord(Record):
    """A run folder's record. ``started`` is an ISO 8601 time; ``seconds`` is time worked."""

    format: Literal[1] = 1
    name: str
    seed: int
    started: str
    fingerprint: Fingerprint
    done: tuple[StageDone, ...] = ()
    current: str | None = None
    seconds: float = 0.0
    finished: bool = False
    forked: str | None = None

    def goes_on_with(self, fork: str, fingerprint: Fingerprint) -> bool:
        """Whether this very fork is under way: asked for again, it must not start anew."""
        return self.forked == fork and not self.finished and self.fingerprint == fingerprint

    def begin(self, stage: str) -> Self:
        """The stage is under way (again)."""
        return self.model_copy(update={"current": stage})

    def complete(self, stage: StageDone) -> Self:
        """The stage is done, its model saved and its row of the matrix written."""
        done = (*(s for s in self.done if s.name != stage.name), stage)
        return self.model_copy(update={"done": done, "current": None})

    def worked(self, seconds: float) -> Self:
        """Add to the time that this run has taken, over all its processes."""
        return self.model_copy(update={"seconds": self.seconds + seconds})

    def finish(self) -> Self:
        """All stages are done."""
        return self.model_copy(update={"finished": True, "current": None})

    def fork(self, stage: str, fingerprint: Fingerprint) -> Self:
        """Start anew from ``stage`` with another fingerprint; earlier stages stay done."""
        names = fingerprint.stage_names
        kept = names[: names.index(stage)]
        return self.model_copy(
            update={
                "fingerprint": fingerprint,
                "done": tuple(s for s in self.done if s.name in kept),
                "current": None,
                "finished": False,
                "forked": stage,
            }
        )

    def is_done(self, stage: str) -> bool:
        """Whether the stage is finished."""
        return any(s.name == stage for s in self.done)


def save(run_dir: Path, record: RunRecord) -> None:
    """Write the record in one step; raises ``RunError`` when it cannot be written."""
    # By way of Python's json: a warning may quote a completion with a lone surrogate.
    write_json(run_dir / RUN_FILE, record.model_dump(mode="json"))


def load(run_dir: Path) -> RunRecord | None:
    """The record of a run folder, or None where no run was started.

    Raises ``RunError`` when the file is not one that this version wrote.
    """
    path = run_dir / RUN_FILE
    if not path.exists():
        return None
    try:
        return RunRecord.model_validate(json.loads(path.read_bytes()))
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    except ValueError as error:
        what = f"not JSON ({error})"
    raise RunError(
        f"{path} is not a run record of this version: {what}. Restore it from a copy, or use "
        "another output folder."
    )
