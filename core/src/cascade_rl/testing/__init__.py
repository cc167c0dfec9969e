"""For those who test packs, ours and anybody's: the conformance kit, and packs without pip.

Nothing in the library imports this package, except ``cascade check``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cascade_rl.testing.packs import BARE_PACK, write_pack

if TYPE_CHECKING:
    from cascade_rl.testing.conformance import DomainConformance, ModifierConformance
    from cascade_rl.testing.domain_kit import check_domain
    from cascade_rl.testing.modifier_kit import check_modifier

__all__ = [
    "BARE_PACK",
    "DomainConformance",
    "ModifierConformance",
    "check_domain",
    "check_modifier",
    "write_pack",
]

_HOMES = {
    "DomainConformance": "cascade_rl.testing.conformance",
    "ModifierConformance": "cascade_rl.testing.conformance",
    "check_domain": "cascade_rl.testing.domain_kit",
    "check_modifier": "cascade_rl.testing.modifier_kit",
}


def __getattr__(name: str) -> Any:
    """Import on first use: the kit needs the engine, its test classes need pytest."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
