"""Hashes of what a run depends on: a list of prompts, a model folder, a pack's source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from cascade_rl.registry.source import folder_hash, module_hash
from cascade_rl.types import Prompt

__all__ = ["folder_hash", "module_hash", "prompts_hash"]


def prompts_hash(prompts: Iterable[Prompt]) -> str:
    """What a list of prompts (or demonstrations) is, order included: "400 prompts, 1f2e..."."""
    digest, count = hashlib.sha256(), 0
    for prompt in prompts:
        digest.update(json.dumps(prompt.model_dump(mode="json")).encode() + b"\n")
        count += 1
    return f"{count} prompts, {digest.hexdigest()[:16]}"
