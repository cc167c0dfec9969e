"""The progress bar of ``cascade score``: on standard error, and only where that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

UPDATE_S = 0.2


class ScoreProgress:
    """How far a file has been read, how many lines are answered, and how fast."""

    def __init__(self, source: Path) -> None:
        self._bar: Any = None
        self._size = source.stat().st_size if source.is_file() else None  # a pipe has no end
        self._read = self._answered = self._unscored = 0
        self._started = self._shown = time.monotonic()

    def lines(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The same lines, counted."""
        for line in lines:
            self._read += len(line)
            yield line

    def answered(self, scored: bool) -> None:
        """One line more is answered."""
        self._answered += 1
        self._unscored += not scored
        if self._bar is not None and time.monotonic() > self._shown + UPDATE_S:
            self._show()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            text = TextColumn("{task.description}")
            console = Console(stderr=True)
            self._bar = Progress(BarColumn(), text, TimeRemainingColumn(), console=console)
            self._bar.start()
            self._task = self._bar.add_task("", total=self._size)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._show()
            self._bar.stop()

    def _show(self) -> None:
        self._shown = time.monotonic()
        speed = self._answered / max(1e-3, self._shown - self._started)
        text = f"{self._answered:,} answered, {speed:,.0f}/s"
        if self._unscored:
            text += f", {self._unscored:,} not scored"
        self._bar.update(self._task, completed=self._read, description=text)
