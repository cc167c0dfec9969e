"""Fixtures for core's tests."""

from __future__ import annotations

import importlib
import sys
import time
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

    def make(name: str, source: str, *more: str, **fields: Any) -> str:
        modules.append(write_pack(site, name, source, *more, **fields))
        return modules[-1]

    yield make
    for module in modules:
        sys.modules.pop(module, None)
    importlib.invalidate_caches()


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Ask again and again, up to a generous deadline, until something is so."""

    def wait(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while not holds():
            assert time.monotonic() < deadline, "it never came true"
            time.sleep(0.02)

    return wait


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


_TOY = """
from typing import Literal
from pydantic import BaseModel, ConfigDict, Field, model_validator
from cascade_rl import (
    Demonstration, LengthBudget, Prompt, SamplingParams, hookimpl
)

class Options(BaseModel):
    model_config = ConfigDict(extra="forbid")
    count: int = Field(default=40, ge=0)
    held_out: int = 10
    words: int | None = None
    lines: int | None = None
    style: Literal["old", "new"] = "old"
    path: str | None = None
    hub: str | None = None
    temperature_by_mode: bool = False

    @model_validator(mode="after")
    def _one(self):
        if self.words is not None and self.lines is not None:
            raise ValueError("give words or lines, not both")
        return self

def names(split, options):
    if options.path is not None:
        open(options.path).close()
    if options.hub is not None:
        raise RuntimeError("went to the network")
    return [f"{split}-{i}" for i in range(options.count if split == "train" else options.held_out)]

@hookimpl
def load_prompts(split, options):
    return [Prompt.from_text(name, name) for name in names(split, options)]

@hookimpl
def reward(prompt, completion):
    return 1.0

@hookimpl
def length_budget(stage, options):
    long = 100 if stage.name.endswith("long") else 60
    return LengthBudget(prompt_tokens=20, completion_tokens=long, overlong="mask")

@hookimpl
def sampling_params(stage, mode, options):
    by_mode = options.temperature_by_mode and mode == "think"
    return SamplingParams(temperature=0.5 if by_mode else 1.0, n=8)
"""
_DEMONSTRATIONS = """
@hookimpl
def load_demonstrations(split, options):
    return [
        Demonstration.from_text(name, name, completion="x") for name in names(split, options)
    ]
"""


@pytest.fixture
def toy_packs(make_pack: MakePack) -> None:
    """Two domains: ``haiku`` 1.0, and ``ode`` 2.1, which has no demonstrations."""
    make_pack("haiku", _TOY + _DEMONSTRATIONS)
    make_pack("ode", _TOY, distribution="fake-ode", version="2.1")
