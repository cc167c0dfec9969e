"""What a pack declares about its ``reward``, beside the hooks (see ``cascade_rl.hooks``)."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from cascade_rl.errors import BadDeclaration
from cascade_rl.registry.discover import Announcement


@dataclass(frozen=True)
class Declared:
    """How a pack's ``reward`` is to be run; None where the pack says nothing."""

    deterministic: bool = True
    concurrency: int | None = None
    rate_per_s: float | None = None


def read_declared(announcement: Announcement, plugin: Any) -> Declared:
    """The declarations of a plugin (a module or an instance); raises ``BadDeclaration``."""
    deterministic = _value(plugin, "DETERMINISTIC", True)
    if not isinstance(deterministic, bool):
        raise _bad(announcement, "DETERMINISTIC", deterministic, "True or False")
    concurrency = _value(plugin, "CONCURRENCY", None)
    if concurrency is not None and not (_is_number(concurrency, int) and concurrency >= 1):
        raise _bad(announcement, "CONCURRENCY", concurrency, "a whole number from 1 on")
    rate = _value(plugin, "RATE_PER_S", None)
    if rate is not None and not (_is_number(rate, (int, float)) and 0 < rate < math.inf):
        raise _bad(announcement, "RATE_PER_S", rate, "a number above 0")
    return Declared(deterministic, concurrency, rate)


def _value(plugin: Any, name: str, default: Any) -> Any:
    home = plugin if isinstance(plugin, ModuleType) else inspect.getmodule(type(plugin))
    return getattr(plugin, name, getattr(home, name, default))


def _is_number(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _bad(announcement: Announcement, name: str, value: Any, allowed: str) -> BadDeclaration:
    return BadDeclaration(
        f"domain {announcement.name!r} from {announcement.source} ({announcement.value}): "
        f"{name} is {value!r:.60}; it must be {allowed}"
    )
