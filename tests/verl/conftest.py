"""Tests that need verl itself: ``make test-verl`` runs them, in its own virtual environment."""

from __future__ import annotations

import importlib.util
import os
import warnings

HAS_VERL = importlib.util.find_spec("verl") is not None
collect_ignore_glob = [] if HAS_VERL else ["test_*.py"]

if HAS_VERL:
    from cascade_rl_trainer.verl.configure import environment

    os.environ.update(environment("cpu"))  # verl reads these when it is imported
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import verl  # noqa: F401 - which then imports our plugin, as in each of its processes


def pytest_configure(config):
    """verl and what it imports warn of many things; none is ours to mend."""
    if HAS_VERL:
        config.addinivalue_line("filterwarnings", "ignore")
