"""The checkpoint of a stage that is under way: what the next ``run`` needs to go on bit for bit.

A stage's folder holds ``checkpoint-000120/`` (one ``.pt`` file a part, and ``record.json``
with their checksums) and ``latest.json``, which names the folder that counts. The pointer is
replaced only once the folder is complete; older folders go after that.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cascade_rl.errors import RunError
from cascade_rl_trainer.state.files import remove_folder, replaced_folder, write_json

_POINTER = "latest.json"
_RECORD = "record.json"


@dataclass(frozen=True)
class Checkpoint:
    """A complete, verified checkpoint. ``step`` is the next step; ``record`` is the caller's."""

    folder: Path
    step: int
    record: dict[str, Any]

    def load(self, part: str, map_location: str = "cpu") -> Any:
        """A part as it was saved: a state dict of tensors, or nested plain values."""
        import torch

        return torch.load(self.folder / f"{part}.pt", map_location, weights_only=True)


def save(
    stage_dir: Path, step: int, parts: Mapping[str, Any], record: Mapping[str, Any]
) -> Checkpoint:
    """Make the state before step ``step`` the stage's only checkpoint.

    ``parts`` are state dicts (model, optimizer, ``random_state()``); ``record`` is JSON: the
    logs' positions, the filter's state, counters. Raises ``RunError`` when the disk is full;
    the previous checkpoint then still counts.
    """
    folder = stage_dir / f"checkpoint-{step:06d}"
    with replaced_folder(folder) as new:
        for name, value in parts.items():
            _save_part(new / f"{name}.pt", value)
        body = {
            "step": step,
            "record": dict(record),
            "files": {f"{name}.pt": _checksum(new / f"{name}.pt") for name in parts},
        }
        write_json(new / _RECORD, {**body, "checksum": _text_checksum(body)})
    write_json(stage_dir / _POINTER, {"checkpoint": folder.name})
    _remove_all_but(stage_dir, folder.name)
    return Checkpoint(folder, step, json.loads(json.dumps(record)))


def latest(stage_dir: Path) -> Checkpoint | None:
    """The stage's checkpoint, every checksum verified; None when there is none.

    Raises ``RunError`` that names the first file which is missing, cut short or changed.
    """
    pointer = stage_dir / _POINTER
    if not pointer.exists():
        return None
    name = _read_json(pointer, stage_dir).get("checkpoint")
    if not isinstance(name, str) or Path(name).name != name:
        raise _corrupt(pointer, "it names no checkpoint", stage_dir)
    folder = stage_dir / name
    body = _read_json(folder / _RECORD, stage_dir)
    if body.pop("checksum", None) != _text_checksum(body):
        raise _corrupt(folder / _RECORD, "its checksum does not fit", stage_dir)
    for file, checksum in body["files"].items():
        if not (folder / file).is_file():
            raise _corrupt(folder / file, "it is missing", stage_dir)
        if _checksum(folder / file) != checksum:
            raise _corrupt(folder / file, "its checksum does not fit", stage_dir)
    return Checkpoint(folder, body["step"], body["record"])


def remove(stage_dir: Path) -> None:
    """Remove the checkpoint of a stage that is finished."""
    (stage_dir / _POINTER).unlink(missing_ok=True)
    _remove_all_but(stage_dir, None)


def random_state() -> dict[str, Any]:
    """The global generators of Python and torch, as a part for ``save``."""
    import torch

    return {
        "python": random.getstate(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def restore_random_state(state: Mapping[str, Any]) -> None:
    """Put back what ``random_state`` took."""
    import torch

    random.setstate(state["python"])
    torch.set_rng_state(state["torch"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])


def _save_part(path: Path, value: Any) -> None:
    import torch

    try:
        with path.open("wb") as file:
            torch.save(value, file)
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):  # torch hides a full disk behind its own error
            raise error.__context__ from None
        raise


def _remove_all_but(stage_dir: Path, name: str | None) -> None:
    for folder in stage_dir.glob("checkpoint-*"):
        if folder.name != name:
            remove_folder(folder)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _text_checksum(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _read_json(path: Path, stage_dir: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise _corrupt(path, "it is missing", stage_dir) from None
    except ValueError as error:
        raise _corrupt(path, f"it is not JSON ({error})", stage_dir) from error
    if not isinstance(value, dict):
        raise _corrupt(path, "it is not a JSON object", stage_dir)
    return value


def _corrupt(path: Path, what: str, stage_dir: Path) -> RunError:
    return RunError(
        f"checkpoint file {path} cannot be used: {what}. Restore it from a copy, or remove "
        f"the folder {stage_dir} to start this stage again; finished stages are kept."
    )
