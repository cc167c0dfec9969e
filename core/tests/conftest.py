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


@pytest.fixture
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


_TOY = '''
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
'''
_DEMONSTRATIONS = '''
@hookimpl
def load_demonstrations(split, options):
    return [
        Demonstration.from_text(name, name, completion="x") for name in names(split, options)
    ]
'''


@pytest.fixture
def toy_packs(make_pack: MakePack) -> None:
    """Two domains: ``haiku`` 1.0, and ``ode`` 2.1, which has no demonstrations."""
    make_pack("haiku", _TOY + _DEMONSTRATIONS)
    make_pack("ode", _TOY, distribution="fake-ode", version="2.1")
