"""Starting verl as a child process, watching it, and stopping it with all that it started."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cascade_rl.errors import RunError
from cascade_rl_trainer.verl.configure import CONFIG_FILE
from cascade_rl_trainer.verl.job import OUTCOME_FILE, read_outcome
from cascade_rl_trainer.verl.names import PARENT_VARIABLE

LOG_FILE = "verl.log"
POLL_S = 0.5
#: How long verl and Ray may take to stop in order.
GRACE_S = 20.0
_ERROR = re.compile(r"^(?:\(.*?\)\s*)?(?:ray\.exceptions\.\S+|[\w.]*(?:Error|Exception)): .+")


def command(folder: Path) -> list[str]:
    """What is run: verl's own trainer with our configuration."""
    stem = Path(CONFIG_FILE).stem
    module = "verl.trainer.main_ppo"
    return [sys.executable, "-m", module, "--config-path", str(folder), "--config-name", stem]


def run(folder: Path, variables: Mapping[str, str], watch: Callable[[], None]) -> None:
    """Run verl on the configuration in ``folder`` until it ends; ``watch`` is called meanwhile.

    Its output goes to ``verl.log``. Raises ``RunError`` with the reason when it fails; an
    interrupt stops it, and Ray with it, before it goes on.
    """
    (folder / OUTCOME_FILE).unlink(missing_ok=True)
    with _ray_folder(folder) as temporary, (folder / LOG_FILE).open("ab") as log:
        start = log.tell()
        environment = {
            **os.environ,
            "RAY_AUTH_MODE": "disabled",  # else Ray writes a token into the home folder
            "RAY_DEDUP_LOGS": "0",
            "RAY_TMPDIR": temporary,
            "HYDRA_FULL_ERROR": "1",
            "PYTHONUNBUFFERED": "1",
            **variables,
            PARENT_VARIABLE: str(os.getpid()),
        }
        child = subprocess.Popen(  # noqa: S603 - our own interpreter
            command(folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            while child.poll() is None:
                time.sleep(POLL_S)
                watch()
        finally:
            _stop(child)
        watch()
    if child.returncode != 0:
        raise RunError(_why(folder, start, child.returncode))


@contextmanager
def _ray_folder(run: Path) -> Iterator[str]:
    """A short path, as Ray puts sockets below it, whose paths may have 107 bytes.

    The same one for the same run, so that what a kill left behind goes with the next start.
    """
    digest = hashlib.sha256(str(run).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"cascade-ray-{digest}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield str(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stop(child: subprocess.Popen[bytes]) -> None:
    """End the driver, then whatever of its session is left."""
    if child.poll() is None:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _why(folder: Path, start: int, code: int) -> str:
    """Our own error, or the last error line of the log."""
    said = read_outcome(folder).get("error")
    log = folder / LOG_FILE
    with log.open("rb") as file:
        file.seek(start)
        lines = file.read().decode(errors="replace").splitlines()
    errors = [line for line in lines if _ERROR.match(line)]
    last = said or (errors or lines or ["no output"])[-1].strip()
    return f"verl ended with status {code}: {last}\n  Its output: {log}"
