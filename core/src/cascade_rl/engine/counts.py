"""What an engine has done so far, by name."""

from __future__ import annotations

import threading
from collections import Counter


class Counts:
    """Thread-safe counters."""

    def __init__(self) -> None:
        self._counter: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, name: str, number: int = 1) -> None:
        """Count ``number`` more of ``name``."""
        with self._lock:
            self._counter[name] += number

    def all(self) -> dict[str, int]:
        """A copy; what never happened is absent."""
        with self._lock:
            return dict(self._counter)
