"""Everything that can be said about a cascade before it runs, as findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cascade_rl.config.checks.context import Context
from cascade_rl.config.checks.data import check_data
from cascade_rl.config.checks.model import check_context, check_model
from cascade_rl.config.checks.packs import check_backend, check_packs, check_rewards
from cascade_rl.config.checks.stages import (
    check_gates,
    check_groups,
    check_idle_keys,
    check_lengths,
    check_modes,
    check_repeats,
    check_schedules,
)
from cascade_rl.config.findings import Finding
from cascade_rl.config.resolve import Resolution
from cascade_rl.registry import Registry

CHECKS: tuple[Callable[[Context], Iterable[Finding]], ...] = (
    check_model,
    check_backend,
    check_packs,
    check_rewards,
    check_repeats,
    check_idle_keys,
    check_groups,
    check_modes,
    check_schedules,
    check_lengths,
    check_gates,
    check_context,
    check_data,
)
_ORDER = ("wrong", "unverified", "warning")


def check(resolution: Resolution, registry: Registry, backend: str | None = None) -> list[Finding]:
    """All findings, the wrong ones first; reads the packs' data, uses no network.

    ``backend`` replaces the file's. Nothing is raised: a pack that fails is a finding.
    """
    context = Context(resolution, registry, backend)
    found = dict.fromkeys(finding for run in CHECKS for finding in run(context))
    return sorted(found, key=lambda finding: _ORDER.index(finding.kind))
