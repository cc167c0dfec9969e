"""Child processes that can be stopped: the only kind of deadline that holds.

Signals cannot interrupt C code that keeps the interpreter lock (big-number arithmetic, a
regular expression) and do not exist off the main thread, so work that may hang runs in a
child of its own and is killed. The engine's workers and any pack that needs to bound its
own work (symbolic algebra, say) use the same classes.
"""

from cascade_rl.workers.channel import Channel, serve_calls
from cascade_rl.workers.pool import CallPool
from cascade_rl.workers.process import CallFailed, WorkerDied, WorkerProcess, WorkerTimeout

__all__ = [
    "CallFailed",
    "CallPool",
    "Channel",
    "WorkerDied",
    "WorkerProcess",
    "WorkerTimeout",
    "serve_calls",
]
