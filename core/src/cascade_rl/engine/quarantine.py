"""Samples that cost two workers, each kept as a file that `cascade score` can replay."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shlex
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from cascade_rl.engine.item import Item, encode_item
from cascade_rl.engine.limits import Limits
from cascade_rl.errors import DataError
from cascade_rl.types import Record, Reward

MAX_FILES = 1000
_FIRST_BYTES = b'{"replay": 1, '
_log = logging.getLogger("cascade_rl.engine")


class Replay(Record):
    """The content of a replay file."""

    domain: str
    options: dict[str, JsonValue]
    reason: str
    item: Item


class Quarantine:
    """A folder of replay files for one domain with one set of options.

    ``host`` names the machine in messages, where it is not the user's own.
    """

    def __init__(
        self,
        folder: Path | None,
        domain: str,
        options: dict[str, Any],
        limits: Limits,
        host: str = "",
    ) -> None:
        self._folder = folder or default_folder()
        self._domain, self._options, self._limits = domain, options, limits
        self._where = f"on {host}, " if host else ""

    def keep(self, item: Item, reward: Reward) -> str:
        """Write the file; returns (and logs) how to replay it, or why it could not be kept."""
        try:
            path = self._write(item, reward.reason)
        except (OSError, ValueError) as error:
            text = f"its replay file could not be written: {error}"
        else:
            text = f"{self._where}replay it: {self.command(path)}"
        _log.warning("a sample of domain %r cost two workers; %s", self._domain, text)
        return text

    def command(self, path: Path) -> str:
        """The shell command that replays a file under the same limits."""
        words = ["cascade", "score", self._domain, str(path), "--workers", "1"]
        words += ["--timeout", f"{self._limits.timeout_s:g}"]
        if self._limits.memory_mb:
            words += ["--memory-mb", str(self._limits.memory_mb)]
        return shlex.join(words)

    def _write(self, item: Item, reason: str) -> Path:
        options = json.dumps(self._options).encode()
        parts = [
            b'"domain": ' + json.dumps(self._domain).encode(),
            b'"options": ' + options,
            b'"reason": ' + json.dumps(reason).encode(),
            b'"item": ' + encode_item(item),
        ]
        content = _FIRST_BYTES + b", ".join(parts) + b"}\n"
        name = hashlib.sha256(options + encode_item(item)).hexdigest()[:16]
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # options may hold secrets
        path = self._folder / f"{self._domain}-{name}.json"
        if not path.exists() and sum(1 for _ in self._folder.glob("*.json")) >= MAX_FILES:
            raise OSError(f"{self._folder} holds {MAX_FILES} files already; delete some")
        draft = path.with_suffix(f".{os.getpid()}.part")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
        draft.replace(path)
        return path


def default_folder() -> Path:
    """``cascade-rl/quarantine`` in the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "cascade-rl" / "quarantine"


def read_replay(path: Path) -> Replay | None:
    """The content of a replay file; None for any other file. Raises ``DataError``."""
    try:
        with path.open("rb") as file:
            if file.read(len(_FIRST_BYTES)) != _FIRST_BYTES:
                return None
            return Replay.model_validate(json.loads(b"{" + file.read()))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except (ValidationError, ValueError) as error:
        raise DataError(f"{path} begins like a replay file and is none: {error}") from error
