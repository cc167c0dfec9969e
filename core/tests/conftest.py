"""Fixtures for core's tests."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from cascade_rl.testing import write_pack

MakePack = Callable[..., str]
PACKS = Path(__file__).parent / "packs"


@pytest.fixture
def make_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePack]:
    """Install a pack for one test: ``write_pack`` into a folder on ``sys.path``."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # replay files
    modules: list[str] = []

    def make(name: str, source: str, **fields: Any) -> str:
        modules.append(write_pack(site, name, source, **fields))
        return modules[-1]

    yield make
    for module in modules:
        sys.modules.pop(module, None)
    importlib.invalidate_caches()


@pytest.fixture
def obedient(make_pack: MakePack) -> str:
    """The name of an installed domain that does what a completion says (packs/obedient.py)."""
    make_pack("obedient", (PACKS / "obedient.py").read_text(), distribution="fake-obedient")
    return "obedient"


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Start services in this process; each call takes settings and gives a URL."""
    from cascade_rl.service.embedded import running
    from cascade_rl.service.settings import ServiceSettings

    with ExitStack() as stack:

        def start(domains: dict[str, Any] | str, **settings: Any) -> str:
            wanted = {domains: {}} if isinstance(domains, str) else domains
            built = ServiceSettings.model_validate({"domains": wanted, **settings})
            return stack.enter_context(running(built))

        yield start


@pytest.fixture(scope="module")
def obedient_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One service of the obedient domain for all tests of a module that change nothing."""
    from cascade_rl.service.embedded import running
    from cascade_rl.service.settings import ServiceSettings

    site = tmp_path_factory.mktemp("site-packages")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        patch.setenv("XDG_CACHE_HOME", str(site / "cache"))
        source = (PACKS / "obedient.py").read_text()
        module = write_pack(site, "obedient", source, distribution="fake-obedient")
        with running(ServiceSettings.model_validate({"domains": {"obedient": {}}})) as url:
            yield url
        sys.modules.pop(module, None)
    importlib.invalidate_caches()
