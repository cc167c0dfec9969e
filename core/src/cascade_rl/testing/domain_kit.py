"""The conformance kit for domains: every check, in the order in which they are reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cascade_rl.hooks import DOMAIN_GROUP
from cascade_rl.registry import Registry
from cascade_rl.testing.check import Check, Runner, by_name
from cascade_rl.testing.checks import attacks, data, loading, verdicts
from cascade_rl.testing.checks.cases import all_cases, stability_cases
from cascade_rl.testing.checks.faults import fault_checks
from cascade_rl.testing.checks.stability import stability_checks
from cascade_rl.testing.results import Report
from cascade_rl.testing.subject import DomainSubject

CHECKS: dict[str, Check[DomainSubject]] = by_name(
    loading.CHECKS,
    loading.DOMAIN_CHECKS,
    data.CHECKS,
    verdicts.CHECKS,
    attacks.CHECKS,
    stability_checks(stability_cases, "prompts"),
    fault_checks(all_cases, "prompts"),
)


def check_domain(
    name: str,
    options: Mapping[str, Any] | None = None,
    only: Sequence[str] = (),
    again: str = "",
    **limits: float,
) -> Report:
    """Run the kit, or the named checks of it. ``limits``: ``timeout_s`` and ``memory_mb``.

    Raises ``UnknownDomain`` or ``DuplicateDomain``; everything else that is wrong is a result.
    """
    source = Registry().announcement(DOMAIN_GROUP, name).source
    subject = DomainSubject(name, options, **limits)
    try:
        runner = Runner(list(CHECKS.values()), subject, again or f"cascade check {name}")
        results = tuple(runner.result(check) for check in only or CHECKS)
    finally:
        subject.close()
    return Report(kind="domain", name=name, source=source, results=results)
