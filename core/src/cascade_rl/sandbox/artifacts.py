"""What compiling made, kept by content: in memory, the least recently used dropped first."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass

from cascade_rl.sandbox.languages import Language
from cascade_rl.sandbox.types import Outcome, Program

_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class Artifact:
    """One compiled program: its key, the compiler's outcome, and the bytes if there are any."""

    key: str
    outcome: Outcome
    data: bytes = b""


class ArtifactCache:
    """A bounded map from key to artifact. Thread-safe."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most, self._bytes = most_bytes, 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, Artifact] = OrderedDict()

    def get(self, key: str) -> Artifact | None:
        """The artifact of a key, if it is still here."""
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def put(self, artifact: Artifact) -> None:
        """Keep one."""
        with self._lock:
            old = self._entries.pop(artifact.key, None)
            self._entries[artifact.key] = artifact
            self._bytes += _size(artifact) - (_size(old) if old else 0)
            while self._bytes > self._most and len(self._entries) > 1:
                _, dropped = self._entries.popitem(last=False)
                self._bytes -= _size(dropped)


def _size(artifact: Artifact) -> int:
    return len(artifact.data) + len(artifact.outcome.stderr) + 1024


def artifact_key(program: Program, language: Language) -> str:
    """A hash of everything that compiling depends on, within one sandbox."""
    parts = [language.name, program.source]
    parts += [
        part for name in sorted(program.headers) for part in (name, program.headers[name].hex())
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
