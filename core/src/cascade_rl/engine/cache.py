"""Nothing is judged twice: verdicts from disk, and one flight for equal samples at once.

The outermost layer over a scorer. Only what a pack itself has said is stored: scored,
abstained, bad_prompt; never a fault, and never a verdict that the engine came to by blame.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import partial
from pathlib import Path
from typing import Self

from cascade_rl.engine.attempt import Attempt, Scorer, Task, Then, closed
from cascade_rl.engine.cache_key import KeyMaker
from cascade_rl.engine.counts import Counts
from cascade_rl.engine.key_locks import KeyLocks
from cascade_rl.engine.store import VerdictStore

STORED = ("scored", "abstained", "bad_prompt")
LOOK_EVERY_S = 0.02
_log = logging.getLogger("cascade_rl.engine")


class VerdictCache:
    """A ``Scorer`` that asks another one only for what nobody has judged or is judging."""

    def __init__(
        self, scorer: Scorer, keys: KeyMaker, locks: KeyLocks, store: VerdictStore, counts: Counts
    ) -> None:
        self._scorer, self._keys, self._counts = scorer, keys, counts
        self._locks, self._store = locks, store
        self._lock = threading.Lock()
        #: Who waits for a key's verdict; an ``Attempt``: judged, and on its way to the disk.
        self._flights: dict[bytes, list[Then] | Attempt] = {}
        #: Keys that another process is judging.
        self._elsewhere: dict[bytes, Task] = {}
        self._watcher: threading.Thread | None = None
        self._closing = threading.Event()

    @classmethod
    def open(
        cls, scorer: Scorer, keys: KeyMaker, folder: Path, max_mb: int, counts: Counts
    ) -> Self | Scorer:
        """The cache, or the scorer as it is (with a warning) where the folder cannot be used."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            locks = KeyLocks(folder)
        except OSError as error:
            _log.warning("no verdict cache: %s", error)
            return scorer
        return cls(scorer, keys, locks, VerdictStore(folder, locks, max_mb), counts)

    def start(self, task: Task, then: Then) -> None:
        """See ``Scorer``."""
        try:
            key = self._keys.key(task.line)
        except ValueError:  # nothing that has no JSON can be stored or sent
            self._scorer.start(task, then)
            return
        with self._lock:
            flight = self._flights.get(key)
            if flight is None:
                self._flights[key] = [then]
            elif isinstance(flight, list):
                flight.append(then)
                self._counts.add("cache_joined")
        if isinstance(flight, Attempt):
            self._counts.add("cache_hits")
            then(flight)
        elif flight is None:
            self._lead(key, task)

    def close(self) -> None:
        """Stop the scorer, answer everything, write what waits."""
        self._closing.set()
        self._scorer.close()
        if self._watcher is not None:
            self._watcher.join()
        self._store.close()
        self._locks.close()

    def _lead(self, key: bytes, task: Task) -> None:
        if self._closing.is_set():
            self._land(key, closed())
        elif not self._found(key):
            if self._locks.try_lock(key):
                self._judge(key, task)
            else:
                self._wait_elsewhere(key, task)

    def _judge(self, key: bytes, task: Task) -> None:
        """With the key's lock: whoever held it before may have stored a verdict."""
        if self._found(key):
            self._locks.unlock(key)
            return
        try:
            self._scorer.start(task, partial(self._judged, key))
        except BaseException:  # an interrupt, while scoring in this very thread
            self._judged(key, closed("interrupted"))
            raise

    def _found(self, key: bytes) -> bool:
        reward = self._store.get(key)
        if reward is None:
            return False
        self._counts.add("cache_hits")
        self._land(key, Attempt(reward))
        return True

    def _judged(self, key: bytes, attempt: Attempt) -> None:
        if not attempt.storable or attempt.reward.status not in STORED:
            self._locks.unlock(key)
            self._land(key, attempt)
            return
        self._land(key, attempt, keep=True)
        self._store.put(key, attempt.reward, partial(self._stored, key))

    def _stored(self, key: bytes) -> None:
        self._locks.unlock(key)
        with self._lock:
            self._flights.pop(key, None)

    def _land(self, key: bytes, attempt: Attempt, keep: bool = False) -> None:
        with self._lock:
            waiting = self._flights.pop(key)
            if keep:
                self._flights[key] = attempt
        assert isinstance(waiting, list)
        for then in waiting:
            then(attempt)

    def _wait_elsewhere(self, key: bytes, task: Task) -> None:
        with self._lock:
            closing = self._closing.is_set()
            if not closing:
                self._elsewhere[key] = task
            if self._watcher is None and not closing:
                self._watcher = threading.Thread(target=self._watch, daemon=True, name="flights")
                self._watcher.start()
        if closing:
            self._land(key, closed())

    def _watch(self) -> None:
        """Take over the keys whose holders have stored a verdict, given up, or died."""
        while not self._closing.wait(LOOK_EVERY_S):
            started = time.monotonic()
            for key, task in list(self._elsewhere.items()):
                if self._locks.try_lock(key):
                    with self._lock:
                        del self._elsewhere[key]
                    self._judge(key, task)
            self._closing.wait(time.monotonic() - started)  # at most half of one thread's time
        with self._lock:
            left, self._elsewhere = list(self._elsewhere), {}
        for key in left:
            self._land(key, closed())
