"""The child's side: ``python -m cascade_rl.workers.child FD``, started by ``WorkerProcess``."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import signal
import sys
from pathlib import Path

from cascade_rl.workers.channel import Channel

_PR_SET_PDEATHSIG = 1


def _die_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call above
        os._exit(0)


def _be_the_first_to_go() -> None:
    # When the machine runs out of memory, the kernel takes a worker and not the trainer.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def main(fd: int) -> None:
    """Read the boot message, import the target and run it until it returns."""
    channel = Channel(fd)
    boot = channel.receive()
    _die_with_parent(boot["parent"])
    _be_the_first_to_go()
    sys.path[:] = boot["path"]
    module, _, attribute = boot["target"].partition(":")
    getattr(importlib.import_module(module), attribute)(channel, boot["init"])


if __name__ == "__main__":
    main(int(sys.argv[1]))
