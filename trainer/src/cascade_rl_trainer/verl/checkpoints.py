"""Where verl leaves a stage's checkpoints, and how the last one becomes the stage's model."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from cascade_rl.errors import RunError
from cascade_rl_trainer.state.files import remove_folder, replaced_folder

#: verl's checkpoints within the stage's folder.
FOLDER = "verl"
#: verl's file that names the step of the last complete checkpoint.
TRACKER = "latest_checkpointed_iteration.txt"
#: Our part of a checkpoint, in its folder.
STATE_FILE = "cascade_rl.json"
EXPORT = Path("actor") / "huggingface"


def latest(folder: Path) -> Path | None:
    """The last complete checkpoint of a stage's folder, or None.

    Raises ``RunError`` where verl's tracker names a checkpoint that is not there: verl itself
    would start again from nothing, without a word.
    """
    tracker = folder / FOLDER / TRACKER
    if not tracker.exists():
        return None
    found = folder / FOLDER / f"global_step_{tracker.read_text().strip()}"
    if not (found / STATE_FILE).exists():
        raise RunError(
            f"{tracker} names the checkpoint {found.name}, which is missing or not ours. Restore "
            f"it from a copy, or remove the folder {folder} to start this stage again"
        )
    return found


def state_of(checkpoint: Path) -> dict[str, Any]:
    """Our part of a checkpoint."""
    found: dict[str, Any] = json.loads((checkpoint / STATE_FILE).read_bytes())
    return found


def remove_older(checkpoint: Path) -> None:
    """Remove a stage's other checkpoints. verl would do so before the new one is complete."""
    for other in checkpoint.parent.glob("global_step_*"):
        if other != checkpoint:
            shutil.rmtree(other, ignore_errors=True)


def export(checkpoint: Path, target: Path) -> None:
    """Make the checkpoint's Hugging Face folder the stage's model; raises ``RunError``."""
    source = checkpoint / EXPORT
    if not any(source.glob("*.safetensors")):
        raise RunError(
            f"{source} holds no weights: the verl section must leave `hf_model` among "
            "actor_rollout_ref.actor.checkpoint.save_contents"
        )
    with replaced_folder(target) as new:
        copy_tree(source, new)


def remove_all(folder: Path) -> None:
    """Remove the checkpoints of a stage whose model is exported."""
    if (folder / FOLDER).exists():
        remove_folder(folder / FOLDER)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder of plain files; on one file system by hard links, which cost nothing."""
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path.resolve(), place)
        except OSError:  # another file system, or one without hard links
            shutil.copy2(path, place)
