"""The step between the host and bubblewrap, a program of its own: ``launcher.py JSON``.

It joins cgroups and shows directories that only root can read, both of which need the host's
own rights, and then gives those rights up before bubblewrap starts. (Bubblewrap started by
root would map the user inside to root outside: root's files would be readable, and limits on
the number of processes void.)
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sys
from typing import Any

_CLONE_NEWNS = 0x20000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000


def main(config: dict[str, Any]) -> None:
    """Prepare this process and become ``argv``."""
    for path in config["cgroups"]:
        with open(path, "w") as file:  # noqa: PTH123 - starts once a guest: no pathlib import
            file.write("0")
    if config["shown"]:
        _show(config["stage"], config["shown"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    stack = config["stack"]
    soft = stack if hard == resource.RLIM_INFINITY else min(stack, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
    if config["user"] is not None:
        os.setgroups([])
        os.setresgid(*[config["group"]] * 3)
        os.setresuid(*[config["user"]] * 3)
    try:
        os.execv(config["argv"][0], config["argv"])  # noqa: S606 - no shell is the point
    except OSError as error:
        sys.exit(f"user {os.getuid()} cannot start {config['argv'][0]}: {error.strerror}")


def _show(stage: str, sources: list[str]) -> None:
    """Bind each source to ``stage/N``, in a mount namespace that only this process has."""
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
        encoded = [None if word is None else word.encode() for word in (source, target, kind)]
        if libc.mount(*encoded, ctypes.c_ulong(flags), None):
            raise OSError(ctypes.get_errno(), f"cannot mount {source} on {target}")

    if libc.unshare(_CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "cannot make a mount namespace")
    mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    mount("none", stage, "tmpfs", 0)
    for number, source in enumerate(sources):
        target = f"{stage}/{number}"
        os.mkdir(target)  # noqa: PTH102
        mount(source, target, None, _MS_BIND | _MS_REC)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
