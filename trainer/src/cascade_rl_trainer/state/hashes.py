"""Hashes of what a run depends on: a pack's installed source, a folder, a list of prompts."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterable
from pathlib import Path

from cascade_rl.types import Prompt

_SKIPPED_FOLDERS = {"__pycache__"}


def prompts_hash(prompts: Iterable[Prompt]) -> str:
    """What a list of prompts (or demonstrations) is, order included: "400 prompts, 1f2e..."."""
    digest, count = hashlib.sha256(), 0
    for prompt in prompts:
        digest.update(json.dumps(prompt.model_dump(mode="json")).encode() + b"\n")
        count += 1
    return f"{count} prompts, {digest.hexdigest()[:16]}"


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


def _files(folder: Path) -> Iterable[Path]:
    for parent, subfolders, names in os.walk(folder):
        subfolders[:] = [name for name in subfolders if name not in _SKIPPED_FOLDERS]
        yield from (Path(parent, name) for name in names if not name.endswith(".pyc"))


def _add_file(digest: hashlib._Hash, name: str, path: Path) -> None:
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    digest.update(f"{name}\0{content}\n".encode())
