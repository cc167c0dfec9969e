"""The one sandbox of a worker process: opened once, kept warm, closed in order."""

from __future__ import annotations

import atexit
import threading

from cascade_rl.sandbox import Sandbox, open_sandbox
from cascade_rl_code.options import Options

_lock = threading.Lock()
_open: dict[tuple[object, ...], Sandbox] = {}


def sandbox(options: Options) -> Sandbox:
    """The sandbox for these options. Raises ``SandboxUnavailable`` with what to install."""
    key = (options.isolation, options.sandbox_url, options.sandbox_image)
    with _lock:
        if not _open:  # a process may run programs without ever calling the hook `close`
            atexit.unregister(close)
            atexit.register(close)
        if key not in _open:
            _open[key] = open_sandbox(
                options.isolation, url=options.sandbox_url, image=options.sandbox_image
            )
        return _open[key]


def close() -> None:
    """Close every sandbox that was opened here."""
    with _lock:
        closing = list(_open.values())
        _open.clear()
    for each in closing:
        each.close()
