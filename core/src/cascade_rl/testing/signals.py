"""Notes who calls into ``signal``: a pack's alarm works in no thread and in no other program."""

from __future__ import annotations

import functools
import signal
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

WATCHED = ("signal", "alarm", "setitimer", "set_wakeup_fd")
_STDLIB = sysconfig.get_paths()["stdlib"]


class SignalWatch:
    """Records calls from outside the standard library, which still take effect."""

    def __init__(self) -> None:
        self._seen: list[str] = []

    def install(self) -> None:
        """Start watching; must come before the pack is imported."""
        for name in WATCHED:
            setattr(signal, name, self._watched(name, getattr(signal, name)))

    def take(self) -> list[str]:
        """The calls since the last time, each with its place."""
        seen, self._seen = self._seen, []
        return seen

    def _watched(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*arguments: Any) -> Any:
            frame = sys._getframe(1)
            file = frame.f_code.co_filename
            if not file.startswith(_STDLIB) or "site-packages" in file:
                self._seen.append(f"signal.{name} in {file}, line {frame.f_lineno}")
            return original(*arguments)

        return call
