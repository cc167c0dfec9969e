"""A client of the reward service with the engine's calls (extra ``cascade-rl[client]``).

``RewardClient`` from any thread, ``AsyncRewardClient`` in an event loop; ``client.trl`` and
``client.verl`` are ready-made reward functions for those trainers.
"""

from cascade_rl.errors import RunError

try:
    import httpx as _httpx  # noqa: F401 - only to say what to install
except ModuleNotFoundError as error:
    raise RunError("the client needs httpx: pip install 'cascade-rl[client]'") from error

from cascade_rl.client.asynchronous import AsyncRewardClient
from cascade_rl.client.faults import ServiceRefused
from cascade_rl.client.synchronous import RewardClient

__all__ = ["AsyncRewardClient", "RewardClient", "ServiceRefused"]
