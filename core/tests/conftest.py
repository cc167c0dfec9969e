"""Fixtures for core's tests."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cascade_rl.testing import write_pack

MakePack = Callable[..., str]


@pytest.fixture
def make_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePack]:
    """Install a pack for one test: ``write_pack`` into a folder on ``sys.path``."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    modules: list[str] = []

    def make(name: str, source: str, **fields: Any) -> str:
        modules.append(write_pack(site, name, source, **fields))
        return modules[-1]

    yield make
    for module in modules:
        sys.modules.pop(module, None)
    importlib.invalidate_caches()
