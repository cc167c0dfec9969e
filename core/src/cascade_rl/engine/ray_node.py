"""The pool of one Ray node: an actor that owns worker processes. Imports nothing of Ray.

Deadlines, kills, second tries and quarantine all happen here, as on a single machine; only
samples (JSON) come in and only verdicts (JSON) go out.
"""

from __future__ import annotations

import queue
import socket
import sys
from functools import partial
from pathlib import Path
from typing import Any

from cascade_rl.engine.answer import answer_line
from cascade_rl.engine.attempt import Attempt, Task, closed
from cascade_rl.engine.counts import Counts
from cascade_rl.engine.item import decode_item
from cascade_rl.engine.limits import Limits
from cascade_rl.engine.processes import ProcessExecutor
from cascade_rl.engine.quarantine import Quarantine
from cascade_rl.engine.retry import Judge
from cascade_rl.engine.verdict import fault
from cascade_rl.errors import EngineError
from cascade_rl.registry import Registry
from cascade_rl.registry.source import pack_hash

#: How long ``take`` waits for more, once one verdict is there.
LINGER_S = 0.005


class NodePool:
    """Takes samples by number, and gives verdicts back in whatever order they finish.

    Raises where this node cannot do what the others do: a pack that is missing, broken or
    of another source than the driver's.
    """

    def __init__(self, setup: dict[str, Any]) -> None:
        sys.path += [p for p in setup["path"] if p not in sys.path and Path(p).exists()]
        limits, options = Limits(**setup["limits"]), setup["options"]
        domain = Registry().open(setup["domain"], options)
        if pack_hash(domain.distribution, domain.announcement.value) != setup["source"]:
            raise EngineError(
                f"domain {domain.name!r} ({domain.announcement.source}) is installed here from "
                f"another source than on the driver; install the same on every node"
            )
        self._counts, self._told = Counts(), dict[str, int]()
        executor = ProcessExecutor(
            domain.name,
            options,
            limits,
            workers=setup["workers"],
            is_async=domain.is_async,
            source=setup["source"],
            counts=self._counts,
        )
        folder = Path(setup["quarantine"]) if setup["quarantine"] else None
        kept = Quarantine(folder, domain.name, options, limits, host=socket.gethostname())
        self._judge = Judge(
            executor,
            kept,
            self._counts,
            fresh_retries=not domain.is_async,
            blame=limits.blame,
        )
        self._finished: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def ready(self) -> bool:
        """Answers as soon as the pool can work."""
        return True

    def put(self, samples: list[tuple[int, bytes]]) -> None:
        """Start (number, encoded item) pairs."""
        for number, line in samples:
            try:
                item = decode_item(line)
            except ValueError as error:
                self._finish(number, fault(error))
            else:
                self._judge.start(Task(item), partial(self._finish, number))

    def take(self, most: int, timeout_s: float) -> tuple[list[bytes], dict[str, int]]:
        """Up to ``most`` answers, as soon as there is one; what has been counted since."""
        answers: list[bytes] = []
        try:
            while len(answers) < most:
                answers.append(self._finished.get(timeout=LINGER_S if answers else timeout_s))
        except queue.Empty:
            pass
        counts = self._counts.all()
        news = {name: n - self._told.get(name, 0) for name, n in counts.items()}
        self._told = counts
        return answers, {name: n for name, n in news.items() if n}

    def stop(self) -> bool:
        """Stop the workers."""
        self._judge.close()
        return True

    def _finish(self, number: int, attempt: Attempt) -> None:
        try:
            self._finished.put(answer_line(number, attempt))
        except (ValueError, TypeError, RecursionError) as error:
            self._finished.put(answer_line(number, closed(str(error))))
