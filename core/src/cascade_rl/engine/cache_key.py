"""What a stored verdict depends on, as one hash.

Not seen by the key, so a pack for which it matters declares ``DETERMINISTIC = False``: files
and services that options or the environment name, and what its dependencies depend on.
"""

from __future__ import annotations

import hashlib
import json
import platform
from typing import Any

from cascade_rl.engine.limits import Limits
from cascade_rl.hooks import HOOK_VERSION
from cascade_rl.registry import Domain
from cascade_rl.registry.source import dependency_versions, installed_versions, pack_hash

CORE = "cascade-rl"


class KeyMaker:
    """Makes the keys of one domain with one set of options and limits."""

    def __init__(self, domain: Domain, options: dict[str, Any], limits: Limits) -> None:
        self.source = pack_hash(domain.distribution, domain.announcement.value)
        parts = {
            "pack": [domain.name, domain.announcement.value, domain.distribution, domain.version],
            "source": self.source,
            "dependencies": dependency_versions(domain.distribution),
            "core": [installed_versions([CORE]), pack_hash(CORE, "cascade_rl"), HOOK_VERSION],
            "python": platform.python_version(),
            "options": [options, domain.options.model_dump(mode="json", fallback=repr)],
            "limits": [limits.timeout_s, limits.memory_mb],
        }
        self._base = hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode())

    def key(self, item_line: bytes) -> bytes:
        """32 bytes for an encoded item: its whole prompt, completion and budget."""
        digest = self._base.copy()
        digest.update(b"\n" + item_line)
        return digest.digest()
