"""Finding and loading packs: lazily, by name, each isolated from the others.

``Registry`` is the one door. Listing reads metadata only; opening imports one pack.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cascade_rl.errors import DuplicateDomain, PackError, UnknownDomain
from cascade_rl.hooks import (
    DOMAIN_GROUP,
    MODIFIER_GROUP,
    REQUIRED_HOOKS,
    DomainSpec,
    ModifierSpec,
)
from cascade_rl.registry.discover import Announcement, Discovery, discover
from cascade_rl.registry.domain import Domain, held_out
from cascade_rl.registry.modifier import Modifier
from cascade_rl.registry.plugin import (
    build_plugin,
    did_you_mean,
    import_plugin,
    nearest,
    options_model,
)

__all__ = [
    "KNOWN_PACKS",
    "Announcement",
    "Discovery",
    "Domain",
    "Modifier",
    "Registry",
    "did_you_mean",
    "discover",
    "held_out",
    "import_plugin",
    "nearest",
    "options_model",
]

#: Names that may be suggested for installation. Never built from what a user typed: that
#: would send a typo to whoever registered it on the index.
KNOWN_PACKS = ("code", "ifeval", "math", "rlhf", "swe")


class Registry:
    """The packs announced on ``path`` (default ``sys.path``), read once."""

    def __init__(self, path: Iterable[str] | None = None) -> None:
        self.discovery = discover(path)

    def announcement(self, group: str, name: str) -> Announcement:
        """The one announcement of a name.

        Raises ``UnknownDomain`` (with the nearest names) or ``DuplicateDomain``.
        """
        found = sorted(self.discovery.named(group, name), key=lambda a: a.distribution)
        if not found:
            raise UnknownDomain(self._unknown(group, name))
        if len(found) > 1:
            sources = " and ".join(f"{a.source} ({a.value})" for a in found)
            raise DuplicateDomain(
                f"{_kind(group)} {name!r} is announced by {sources}; uninstall one of them "
                f"(pip uninstall {found[0].distribution})"
            )
        return found[0]

    def open(self, name: str, options: dict[str, Any] | None = None) -> Domain:
        """Load a domain with options; raises a subclass of ``PackError``."""
        announcement = self.announcement(DOMAIN_GROUP, name)
        manager, valid = build_plugin(announcement, DomainSpec, REQUIRED_HOOKS, options or {})
        return Domain(announcement, manager, valid)

    def modifier(self, name: str, options: dict[str, Any] | None = None) -> Modifier:
        """Load a reward modifier with options; raises a subclass of ``PackError``."""
        announcement = self.announcement(MODIFIER_GROUP, name)
        manager, valid = build_plugin(announcement, ModifierSpec, ("modify",), options or {})
        return Modifier(announcement, manager, valid)

    def check(self, group: str = DOMAIN_GROUP) -> dict[str, PackError | None]:
        """Try every name of a group with default options: the error, or None where it loads."""
        opener = self.open if group == DOMAIN_GROUP else self.modifier
        outcome: dict[str, PackError | None] = {}
        for name in self.discovery.names(group):
            try:
                opener(name)
            except PackError as error:
                outcome[name] = error
            else:
                outcome[name] = None
        return outcome

    def _unknown(self, group: str, name: str) -> str:
        known = self.discovery.names(group)
        text = f"no {_kind(group)} {name!r} is installed"
        to_install = group == DOMAIN_GROUP and name in KNOWN_PACKS
        close = [] if to_install else nearest(name, known)
        text += f"; did you mean {' or '.join(map(repr, close))}?" if close else "."
        text += f" Installed: {', '.join(known) or 'none'}."
        if to_install:
            text += f" Install it: pip install cascade-rl-{name}"
        return text


def _kind(group: str) -> str:
    return group.rpartition(".")[2].removesuffix("s")
