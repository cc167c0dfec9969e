"""Cascade files: reading, validating, merging with the packs' defaults, checking.

In the order of use: ``source`` (YAML and ``--set`` to plain data with lines), ``load`` (data to
``CascadeConfig``), ``resolve`` (packs' defaults < file < ``--set``, with origins), ``check``
(what is wrong, what cannot be verified here). Trains nothing and never uses the network.

Relative paths in a cascade file, as on the command line, start from the working directory:
one rule that also holds for the paths in a pack's options, which core cannot tell from text.
"""

from cascade_rl.config.check import check
from cascade_rl.config.findings import Finding
from cascade_rl.config.load import load_config, validate
from cascade_rl.config.overrides import apply_overrides
from cascade_rl.config.resolve import Resolution, output_folder, resolve, trace
from cascade_rl.config.resolved import ResolvedCascade, ResolvedDomain, ResolvedStage
from cascade_rl.config.schema import CascadeConfig, StageConfig
from cascade_rl.config.source import Source, read_source

__all__ = [
    "CascadeConfig",
    "Finding",
    "Resolution",
    "ResolvedCascade",
    "ResolvedDomain",
    "ResolvedStage",
    "Source",
    "StageConfig",
    "apply_overrides",
    "check",
    "load_config",
    "output_folder",
    "read_source",
    "resolve",
    "trace",
    "validate",
]
