"""Fixtures for what crosses distributions: wheels, and environments that hold only some of them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
collect_ignore = ["broken_packs", "third_party"]  # packs, not tests of ours


def _load(name: str) -> ModuleType:
    """A helper beside the tests; importlib mode puts no folder on ``sys.path``."""
    spec = importlib.util.spec_from_file_location(f"cascade_tests_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def environments() -> ModuleType:
    """The module ``environments``."""
    return _load("environments")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory, environments) -> Path:
    """A folder with a wheel of each of our distributions and of the outside pack."""
    return environments.build_wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture
def new_environment(tmp_path, environments, wheels) -> Callable[..., object]:
    """``new_environment("cascade-rl", extras…)``: an environment with these wheels."""

    def new(*names: str, **fields: object) -> object:
        return environments.Environment.make(tmp_path / "env", wheels, names, **fields)

    return new
