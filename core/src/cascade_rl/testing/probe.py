"""The parent's side of a probe: asks a plugin in a child process, and kills it when it is late."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any

from cascade_rl.errors import CascadeError
from cascade_rl.testing.answers import Answer, AnswerKind
from cascade_rl.workers import CallFailed, WorkerDied, WorkerProcess, WorkerTimeout

TARGET = "cascade_rl.testing.child:serve"
LOOK_EVERY_S = 0.05
MOST_KILLS = 3
START_S = 60.0


class TooMuchMemory(CascadeError):
    """The child grew beyond its limit. It has been killed."""


class Probe:
    """One plugin in one child process, replaced after each kill, given up after three.

    ``seed`` is the child's PYTHONHASHSEED. ``memory_mb``: by how much (10⁶ bytes) the child may
    grow while it judges one completion.
    """

    def __init__(
        self, init: Mapping[str, Any], *, seed: int, timeout_s: float, memory_mb: float
    ) -> None:
        self._init, self._seed = dict(init), seed
        self.timeout_s, self.memory_mb = timeout_s, memory_mb
        self._worker: WorkerProcess | None = None
        self._kills = 0
        self.facts: dict[str, Any] = {}

    def ask(self, op: str, timeout_s: float | None = None, **fields: Any) -> Any:
        """The answer of one operation.

        Raises ``CallFailed`` (the plugin raised), ``WorkerTimeout``, ``WorkerDied`` or
        ``TooMuchMemory``.
        """
        self.start()
        return self._call({"op": op, **fields}, timeout_s or self.timeout_s)

    def score(self, item: Mapping[str, Any], op: str = "score") -> Answer:
        """What comes back for one item. Never raises."""
        if self._kills >= MOST_KILLS:
            return Answer(kind="given_up", text=f"not asked: killed {self._kills} times before")
        started = time.perf_counter()
        kind: AnswerKind
        try:
            self.start()
            answer = self._call({"op": op, "item": item}, self.timeout_s, self.memory_mb)
            return Answer.model_validate(answer)
        except WorkerTimeout:
            kind, text = "timeout", f"no verdict within {self.timeout_s:g} s"
        except TooMuchMemory as error:
            kind, text = "memory", str(error)
        except WorkerDied as error:
            kind, text = "died", str(error)
        except CallFailed as error:  # SystemExit and the like
            kind, text = "raised", str(error)
        self._kills += kind != "raised"
        return Answer(kind=kind, text=text, ms=round((time.perf_counter() - started) * 1e3, 3))

    def start(self) -> None:
        """Start the child and load the plugin, unless that is done; ``facts`` says how it went."""
        if self._worker is not None:
            return
        with hash_seed(self._seed):
            self._worker = WorkerProcess(TARGET, self._init)
        self.facts = self._call({"op": "load"}, START_S)

    def close(self) -> None:
        """Stop the child."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _call(self, message: dict[str, Any], timeout_s: float, memory_mb: float = inf) -> Any:
        worker = self._worker
        assert worker is not None
        try:
            most_mb = _resident_mb(worker.pid) + memory_mb
            worker.send(message)
            self._wait(worker, timeout_s, most_mb)
            answer = worker.receive(0)
        except (WorkerDied, WorkerTimeout, TooMuchMemory):
            worker.kill()
            self._worker = None
            raise
        if "error" in answer:
            raise CallFailed(answer["error"])
        return answer["ok"]

    def _wait(self, worker: WorkerProcess, timeout_s: float, most_mb: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not worker.channel.poll(LOOK_EVERY_S):
            if _resident_mb(worker.pid) > most_mb:
                raise TooMuchMemory(f"grew by more than {self.memory_mb:g} MB, killed")
            if time.monotonic() > deadline:
                raise WorkerTimeout(f"no answer within {timeout_s:g} s")


@contextlib.contextmanager
def hash_seed(seed: int) -> Iterator[None]:
    """Children that are started meanwhile hash strings with this seed."""
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONHASHSEED"]
        else:
            os.environ["PYTHONHASHSEED"] = before


def _resident_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):  # no /proc here, or the child is gone
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
