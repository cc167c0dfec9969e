"""One warm sandbox for the whole run, closed at its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cascade_rl.sandbox import Sandbox, SandboxUnavailable
from cascade_rl_code import Options, workplace

SHARED = Path(__file__).resolve().parents[4] / "shared"


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """The sandbox that the hooks use as well."""
    try:
        yield workplace.sandbox(Options())
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    finally:
        workplace.close()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The reference corpora's folder, which is no part of the repository."""
    if not SHARED.is_dir():
        pytest.skip(f"no reference corpora: {SHARED} does not exist")
    return SHARED


@pytest.fixture
def cpp(sandbox: Sandbox) -> str:
    """C++, where its compiler is installed."""
    if "cpp17" not in sandbox.languages():
        pytest.skip("no C++ compiler here: apt-get install g++")
    return "cpp17"
