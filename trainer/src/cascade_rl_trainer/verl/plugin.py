"""Imported by verl in each of its processes (``VERL_USE_EXTERNAL_MODULES``).

Registers our trainer and, on a CPU, a platform and a rollout. Inert for any other run of verl:
only our own runs set that variable.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

from cascade_rl_trainer.verl.names import PARENT_VARIABLE, PLATFORM
from cascade_rl_trainer.verl.version import require_verl

_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """In verl's driver: get SIGTERM when the process that started it ends, however it ends."""
    parent = os.environ.get(PARENT_VARIABLE)
    if parent is None or sys.platform != "linux" or os.getppid() != int(parent):
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


require_verl()
_end_with_parent()
if os.environ.get("VERL_PLATFORM") == PLATFORM:
    from cascade_rl_trainer.verl import platform_cpu

    platform_cpu.install()

from cascade_rl_trainer.verl import trainer  # noqa: E402, F401 - registers itself with verl
