"""Asks verl, in a process of its own, whether it takes a configuration. Starts no run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cascade_rl.errors import ConfigError, RunError
from cascade_rl_trainer.verl import configure

TIMEOUT_S = 300


def require_accepted(texts: Sequence[str], device: str) -> None:
    """Raise ``ConfigError`` with everything that verl does not know or take in these files.

    Hydra itself would accept any key. Raises ``RunError`` when verl cannot be asked.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for place, text in enumerate(texts):
            paths.append(Path(folder) / str(place) / configure.CONFIG_FILE)
            paths[-1].parent.mkdir()
            paths[-1].write_text(text, encoding="utf-8")
        found = _ask(paths, device)
    problems = dict.fromkeys(problem for one in found for problem in one)
    if problems:
        raise ConfigError("\n".join(problems))


def _ask(paths: Sequence[Path], device: str) -> list[list[str]]:
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "cascade_rl_trainer.verl.check", *map(str, paths)],
        env={**os.environ, **configure.environment(device)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    found: list[list[str]] = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:  # verl prints lines of its own
            continue
    if done.returncode != 0 or len(found) != len(paths):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise RunError(f"verl's schema could not be asked: {last}")
    return found
