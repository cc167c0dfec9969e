"""What every check gets: the resolved cascade, the packs, and each pack's data read once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from cascade_rl.config.findings import Finding
from cascade_rl.config.resolve import DomainUse, Resolution
from cascade_rl.config.yaml_text import KeyPath
from cascade_rl.errors import CascadeError
from cascade_rl.registry import Domain, Registry
from cascade_rl.types import Split

Kind = Literal["wrong", "unverified", "warning"]


class Context:
    """A resolved cascade under examination."""

    def __init__(self, resolution: Resolution, registry: Registry, backend: str | None) -> None:
        self.resolution = resolution
        self.registry = registry
        self.source = resolution.source
        self.config = resolution.config
        self.backend = backend or self.config.backend
        self.backend_asked = backend is not None
        self._told: set[str] = set()
        self._counts: dict[tuple[str, str, str, Split], int | CascadeError] = {}

    def finding(self, kind: Kind, path: KeyPath, text: str) -> Finding:
        """A finding about the key at ``path``."""
        return Finding(
            kind=kind, where=self.source.where(path), key=self.source.label(path), text=text
        )

    def first(self, error: CascadeError) -> bool:
        """Whether this error has not been told: a pack used in each stage fails in each."""
        text = str(error)
        known = text in self._told
        self._told.add(text)
        return not known

    def prompts(self, use: DomainUse, split: Split) -> int | CascadeError:
        """How many prompts the domain has; the pack's error instead where it has one."""
        return self._count(use, "load_prompts", split)

    def demonstrations(self, use: DomainUse) -> int | CascadeError:
        """How many demonstrations of the train split the domain has, or the pack's error."""
        return self._count(use, "load_demonstrations", "train")

    def _count(self, use: DomainUse, hook: str, split: Split) -> int | CascadeError:
        if use.domain is None or use.resolved is None:
            raise ValueError(f"domain {use.name!r} could not be opened: {use.error}")
        options = json.dumps(use.resolved.options, sort_keys=True)
        key = (use.name, options, hook, split)
        if key not in self._counts:
            self._counts[key] = _load(use.domain, hook, split)
        return self._counts[key]


def _load(domain: Domain, hook: str, split: Split) -> int | CascadeError:
    try:
        with _offline():
            return len(getattr(domain, hook)(split))
    except CascadeError as error:
        return error


@contextmanager
def _offline() -> Iterator[None]:
    """Keep Hugging Face's libraries off the network: a plan only looks at what is here."""
    names = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
