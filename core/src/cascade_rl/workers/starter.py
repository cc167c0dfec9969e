"""The one thread of a process that starts children which die with their parent.

The kernel's parent-death signal fires when the *thread* that forked ends, so no thread of a
caller's may do it. Not an executor: those refuse work once the main thread has ended, while
other threads may still be at work.
"""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache

Process = subprocess.Popen[bytes]


def start_child(make: Callable[[], Process]) -> Process:
    """Call ``make`` in a thread that lives as long as this process.

    Returns or raises what ``make`` does.
    """
    return _starter(os.getpid()).start(make)


class _Starter:
    def __init__(self) -> None:
        self._work: queue.SimpleQueue[tuple[Callable[[], Process], Future[Process]]]
        self._work = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="cascade-start", daemon=True).start()

    def start(self, make: Callable[[], Process]) -> Process:
        made: Future[Process] = Future()
        self._work.put((make, made))
        return made.result()

    def _serve(self) -> None:
        while True:
            make, made = self._work.get()
            try:
                made.set_result(make())
            except BaseException as error:
                made.set_exception(error)


@cache
def _starter(_process: int) -> _Starter:
    """One for each process: a fork has the object but not the thread."""
    return _Starter()
