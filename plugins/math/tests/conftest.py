"""One symbolic child for the whole run, stopped in order at its end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cascade_rl_math import verify


@pytest.fixture(autouse=True, scope="session")
def _symbolic_child() -> Iterator[None]:
    yield
    verify.close()
