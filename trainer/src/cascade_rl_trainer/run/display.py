"""What a running cascade shows: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

LINE_EVERY_S = 15.0
RECENT = 0.9  # weight of the past in the smoothed figures


class Display:
    """Stage, step, reward, truncation rate and time left, on standard error."""

    def __init__(self, stages: Sequence[tuple[str, int]]) -> None:
        self._console = Console(stderr=True)
        self._steps = dict(stages)
        self._bars: dict[str, TaskID] = {}
        self._smooth: dict[str, float] = {}
        self._last_line = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description:<12}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:>4.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def on_step(self, stage: str, step: int, total: int, figures: Mapping[str, object]) -> None:
        """Show a finished step, and what it warns of. A closed terminal stops no training."""
        with contextlib.suppress(OSError):
            self._show(stage, step, total, figures)

    def _show(self, stage: str, step: int, total: int, figures: Mapping[str, object]) -> None:
        warnings = figures.get("warnings")
        for warning in warnings if isinstance(warnings, list) else []:
            self.say(f"warning: {stage}: {warning}")
        if stage == "evaluation":
            return
        text = self._text(stage, figures)
        if stage not in self._bars:
            self._bars[stage] = self._progress.add_task(stage, total=total, figures="")
        self._progress.update(self._bars[stage], completed=step, figures=text)
        if self._console.is_terminal:
            return
        now = time.monotonic()
        if step == total or now - self._last_line >= LINE_EVERY_S:
            self._last_line = now
            left = self._time_left(stage)
            print(f"{stage}: step {step}/{total}  {text}{left}", file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """Show a sentence."""
        with contextlib.suppress(OSError):
            self._console.print(text, markup=False, highlight=False)

    def _time_left(self, stage: str) -> str:
        remaining = self._progress.tasks[self._bars[stage]].time_remaining
        return f"  {remaining:.0f} s left in this stage" if remaining else ""

    def _text(self, stage: str, figures: Mapping[str, object]) -> str:
        shown = []
        for key, label in (("loss", "loss"), ("reward", "reward"), ("truncated", "truncated")):
            value = figures.get(key)
            if isinstance(value, int | float):
                name = f"{stage}/{key}"
                self._smooth[name] = RECENT * self._smooth.get(name, value) + (1 - RECENT) * value
                text = f"{self._smooth[name]:.0%}" if key == "truncated" else (
                    f"{self._smooth[name]:.3f}"
                )  # fmt: skip
                shown.append(f"{label} {text}")
        return "  ".join(shown)
