"""A cascade file as plain data, and where every value in it stands.

Knows YAML and ``--set`` paths, not which keys exist: that is ``load.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cascade_rl.config.yaml_text import KeyPath, parse_yaml
from cascade_rl.errors import ConfigError

MAX_BYTES = 1_000_000
SET = "--set"


@dataclass(frozen=True)
class Source:
    """Data of one cascade file with overrides applied.

    ``lines`` maps the path of each key and list item to its line; ``overridden`` holds the
    paths that ``--set`` gave. Both use tuples: ``("stages", 1, "steps")``.
    """

    file: str
    data: dict[str, Any]
    lines: dict[KeyPath, int] = field(default_factory=dict)
    overridden: frozenset[KeyPath] = frozenset()

    def where(self, path: KeyPath) -> str:
        """The place to look for a problem at ``path``: its line, its parent's, or ``--set``."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.overridden:
                return SET
            if path[:end] in self.lines:
                return f"{self.file}:{self.lines[path[:end]]}"
        return f"{self.file}:1"

    def origin(self, path: KeyPath) -> str | None:
        """Who gave the value at ``path``, briefly ("laptop.yaml:23"); None for nobody."""
        if path in self.overridden:
            return SET
        line = self.lines.get(path)
        if line is None:
            return None
        place = f"{Path(self.file).name}:{line}"
        return f"{place}, {SET}" if self.is_set(path) else place

    def is_set(self, path: KeyPath) -> bool:
        """Whether ``--set`` gave the value at ``path``, or a part of it."""
        return any(p[: len(path)] == path for p in self.overridden)

    def label(self, path: KeyPath) -> str:
        """The path as ``--set`` takes it: ``stages.math.steps``, ``betas[0]``."""
        text = ""
        for depth, part in enumerate(path):
            name = self._stage_name(part) if depth == 1 and path[0] == "stages" else None
            if isinstance(part, int) and name is None:
                text += f"[{part}]"
            else:
                text += f".{name or part}"
        return text.removeprefix(".")

    def _stage_name(self, index: str | int) -> str | None:
        stages = self.data.get("stages")
        if not isinstance(stages, list) or not isinstance(index, int) or index >= len(stages):
            return None
        names = [s.get("name") if isinstance(s, dict) else None for s in stages]
        name = names[index]
        plain = isinstance(name, str) and re.fullmatch(r"[\w.-]+", name) is not None
        return name if plain and names.count(name) == 1 else None


def read_source(path: Path | str) -> Source:
    """Read a cascade file; raises ``ConfigError`` when it is no YAML mapping."""
    path = Path(path)
    data, lines = parse_yaml(_read_text(path), str(path))
    if data is None:
        raise ConfigError(f"{path}: the file is empty; a cascade needs name, model and stages")
    if not isinstance(data, dict):
        raise ConfigError(
            f"{path}:1: the file must hold keys such as name, model and stages, "
            f"got {type(data).__name__}"
        )
    return Source(str(path), data, lines)


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_BYTES:,} bytes; is it a cascade file?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 text: {error.reason}") from error
