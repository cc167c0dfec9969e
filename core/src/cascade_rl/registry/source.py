"""What a pack is made of: a hash of its installed source, and what it directly depends on.

Nothing here imports a pack. Runs and verdict caches rest on these values: an author who
edits a verifier must never meet an old verdict.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, PackagePath, files, requires, version
from pathlib import Path

_SKIPPED_FOLDERS = {"__pycache__"}


def folder_hash(folder: Path) -> str:
    """Names and contents of every file below a folder, compiled Python left out."""
    digest = hashlib.sha256()
    for path in sorted(_files(folder), key=lambda p: p.relative_to(folder).as_posix()):
        _add_file(digest, path.relative_to(folder).as_posix(), path)
    return digest.hexdigest()


def module_hash(entry_point: str) -> str:
    """The installed source of an entry point's top package (or single file), as Python finds it.

    Editable installs are followed to their source. ``entry_point`` is "package.module:attribute".
    Raises ``ModuleNotFoundError`` when nothing of that name can be imported.
    """
    module = entry_point.partition(":")[0]
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        spec = importlib.util.find_spec(".".join(parts[:depth]))
        if spec is None:
            break
        if spec.origin is None:  # a namespace package: shared, so look further down
            continue
        origin = Path(spec.origin)
        if spec.submodule_search_locations:
            return folder_hash(origin.parent)
        digest = hashlib.sha256()
        _add_file(digest, origin.name, origin)
        return digest.hexdigest()
    raise ModuleNotFoundError(f"no source found for {entry_point!r}", name=module)


def pack_hash(distribution: str, entry_point: str) -> str:
    """``module_hash``, and every other Python file that the same distribution installed.

    An editable install lists no files; there the entry point's top package is all there is.
    Raises ``ModuleNotFoundError``.
    """
    digest = hashlib.sha256(module_hash(entry_point).encode())
    top = entry_point.partition(":")[0].partition(".")[0]
    for listed in sorted(_listed(distribution), key=str):
        beside = listed.suffix == ".py" and listed.parts[0] not in (top, f"{top}.py", "..")
        path = Path(str(listed.locate())) if beside else None
        if path is not None and path.is_file():
            _add_file(digest, listed.as_posix(), path)
    return digest.hexdigest()


def dependency_versions(distribution: str) -> dict[str, str]:
    """The installed versions of what a distribution directly asks for, extras included."""
    try:
        lines = requires(distribution) or []
    except PackageNotFoundError:
        return {}
    names = {match.group() for line in lines if (match := re.match(r"[\w.-]+", line))}
    return installed_versions(sorted(names))


def installed_versions(names: Iterable[str]) -> dict[str, str]:
    """The versions of those distributions that are installed."""
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _listed(distribution: str) -> list[PackagePath]:
    try:
        return files(distribution) or []
    except PackageNotFoundError:
        return []


def _files(folder: Path) -> Iterable[Path]:
    for parent, subfolders, names in os.walk(folder):
        subfolders[:] = [name for name in subfolders if name not in _SKIPPED_FOLDERS]
        yield from (Path(parent, name) for name in names if not name.endswith(".pyc"))


def _add_file(digest: hashlib._Hash, name: str, path: Path) -> None:
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    digest.update(f"{name}\0{content}\n".encode())
