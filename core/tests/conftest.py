"""Fixtures for core's tests: packs that look installed, without pip."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

MakePack = Callable[..., str]

_METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"


@pytest.fixture()
def make_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePack]:
    """Install a pack for one test; returns the name of its module.

    ``make_pack("haiku", source)`` writes the module and a ``.dist-info`` folder with one entry
    point into a folder on ``sys.path`` (which worker processes inherit). Another ``attribute``
    than the module itself is announced as ``module:attribute``. Call it again with the same
    ``distribution`` and another ``name`` to add an entry point to that distribution.
    """
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    modules: list[str] = []

    def make(
        name: str,
        source: str,
        distribution: str = "fake-haiku",
        version: str = "1.0",
        group: str = "cascade_rl.domains",
        attribute: str = "",
    ) -> str:
        plain = re.sub(r"\W", "_", distribution)
        module = f"{plain}_{re.sub(r'[^A-Za-z0-9]', '_', name)}"
        info = site / f"{plain}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(_METADATA.format(name=distribution, version=version))
        with (info / "entry_points.txt").open("a") as file:
            file.write(f"[{group}]\n{name} = {module}{':' + attribute if attribute else ''}\n")
        (site / f"{module}.py").write_text(source)
        modules.append(module)
        importlib.invalidate_caches()
        return module

    yield make
    for module in modules:
        sys.modules.pop(module, None)
    importlib.invalidate_caches()
