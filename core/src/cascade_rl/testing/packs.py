"""A pack that looks installed, without pip: a module and its metadata in a folder.

The folder must be on ``sys.path``; worker processes then see the pack as well.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

_METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"

#: The required hooks but ``reward``, for tests that are about rewards alone.
BARE_PACK = """
from cascade_rl import *

@hookimpl
def load_prompts():
    return []

@hookimpl
def length_budget():
    return LengthBudget(prompt_tokens=1, completion_tokens=4)

@hookimpl
def sampling_params():
    return SamplingParams()
"""


def write_pack(
    site: Path,
    name: str,
    source: str,
    distribution: str = "fake-haiku",
    version: str = "1.0",
    group: str = "cascade_rl.domains",
    attribute: str = "",
) -> str:
    """Write the pack into ``site`` and return its module's name.

    With ``attribute`` the entry point is ``module:attribute``. Called again with the same
    ``distribution`` and another ``name``, it adds an entry point to that distribution.
    """
    plain = re.sub(r"\W", "_", distribution)
    module = f"{plain}_{re.sub(r'[^A-Za-z0-9]', '_', name)}"
    info = site / f"{plain}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(_METADATA.format(name=distribution, version=version))
    with (info / "entry_points.txt").open("a") as file:
        file.write(f"[{group}]\n{name} = {module}{':' + attribute if attribute else ''}\n")
    (site / f"{module}.py").write_text(source)
    importlib.invalidate_caches()
    return module
