"""The steps of a run that another process makes, read from the log that it writes."""

from __future__ import annotations

import json
from pathlib import Path

from cascade_rl_trainer.backend import OnStep


class Follower:
    """Tells ``on_step`` of each line that is new in a stage's ``metrics.jsonl``."""

    def __init__(self, path: Path, stage: str, total: int, on_step: OnStep) -> None:
        self._path, self._stage, self._total, self._on_step = path, stage, total, on_step
        self._told = 0

    def __call__(self) -> None:
        """Look; a half-written line is left for the next time. A resumed log may get shorter."""
        if not self._path.exists():
            return
        lines = self._path.read_bytes().split(b"\n")[:-1]
        for line in lines[self._told :]:
            figures = json.loads(line)
            self._on_step(self._stage, figures["step"], self._total, figures)
        self._told = len(lines)
