"""Who announces what: read from the metadata of installed distributions, importing nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distributions
from pathlib import Path

from cascade_rl.hooks import BACKEND_GROUP, COMMAND_GROUP, DOMAIN_GROUP, MODIFIER_GROUP

GROUPS = (DOMAIN_GROUP, MODIFIER_GROUP, COMMAND_GROUP, BACKEND_GROUP)


@dataclass(frozen=True)
class Announcement:
    """One entry point: ``name = value`` of a group, and the distribution that holds it."""

    group: str
    name: str
    value: str
    distribution: str
    version: str
    location: str

    @property
    def source(self) -> str:
        """The distribution and its version, for messages."""
        return f"{self.distribution} {self.version}"


@dataclass
class Discovery:
    """All announcements, and what was odd about the installed metadata."""

    announcements: list[Announcement] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def named(self, group: str, name: str) -> list[Announcement]:
        """The announcements of one name; more than one is a conflict."""
        return [a for a in self.announcements if a.group == group and a.name == name]

    def names(self, group: str) -> list[str]:
        """The sorted names of a group."""
        return sorted({a.name for a in self.announcements if a.group == group})


def discover(path: Iterable[str] | None = None) -> Discovery:
    """Read the metadata on ``path`` (default ``sys.path``).

    A distribution that is seen twice counts once: the first on the path; within one folder,
    the newest version (the other is what a broken uninstall left behind). Metadata folders
    without a name are skipped with a warning, so that they never hide a whole distribution.
    """
    found = Discovery()
    found_distributions = distributions() if path is None else distributions(path=list(path))
    for distribution in _first_of_each(found_distributions, found.warnings):
        found.announcements.extend(_announcements(distribution, found.warnings))
    return found


def _first_of_each(
    all_of_them: Iterable[Distribution], warnings: list[str]
) -> Iterator[Distribution]:
    chosen: dict[str, Distribution] = {}
    for distribution in all_of_them:
        name = distribution.metadata["Name"]
        if not name:
            warnings.append(f"empty metadata folder, delete it: {_folder(distribution)}")
            continue
        key = re.sub(r"[-_.]+", "-", name).lower()
        other = chosen.setdefault(key, distribution)
        if other is distribution or _folder(other) == _folder(distribution):
            continue
        if _folder(other).parent != _folder(distribution).parent:
            continue  # shadowed by an earlier folder of the path, as imports are
        old, new = sorted((other, distribution), key=lambda d: _version_key(d.version))
        chosen[key] = new
        if list(old.entry_points):
            warnings.append(
                f"stale metadata of {name} {old.version} beside {new.version}, "
                f"delete it: {_folder(old)}"
            )
    yield from chosen.values()


def _announcements(distribution: Distribution, warnings: list[str]) -> Iterator[Announcement]:
    groups_of: dict[str, str] = {}
    for point in distribution.entry_points:
        if point.group not in GROUPS:
            continue
        announcement = Announcement(
            point.group,
            point.name,
            point.value,
            distribution.metadata["Name"],
            distribution.version,
            str(_folder(distribution)),
        )
        first = groups_of.setdefault(f"{point.name} = {point.value}", point.group)
        if first != point.group:
            warnings.append(
                f"{announcement.source}: {point.name} = {point.value} is listed in two groups, "
                f"{first} and {point.group}; the first counts"
            )
            continue
        yield announcement


def _folder(distribution: Distribution) -> Path:
    return Path(str(getattr(distribution, "_path", distribution.metadata["Name"])))


def _version_key(version: str) -> list[tuple[int, str]]:
    return [(int(part or 0), text) for part, text in re.findall(r"(\d+)|([a-z]+)", version)]
