"""The kit as test classes, for pytest: three lines in a pack's own tests.

    from cascade_rl.testing import DomainConformance
    class TestHaiku(DomainConformance):
        domain = "haiku"

Each check is a test, named ``test_check[gold]``. The plugin must be installed (editable is fine).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from cascade_rl.testing import domain_kit, modifier_kit
from cascade_rl.testing.check import Check, Runner
from cascade_rl.testing.modifier_kit import ModifierSubject
from cascade_rl.testing.subject import DomainSubject, Subject


class _Conformance:
    """What both classes share. ``timeout_s``: most seconds for one completion; ``memory_mb``:
    most growth (10⁶ bytes) for one.
    """

    options: ClassVar[Mapping[str, Any]] = {}
    timeout_s: ClassVar[float] = 10.0
    memory_mb: ClassVar[float] = 1000.0
    _subject: ClassVar[Subject]
    _runner: ClassVar[Runner[Any]]

    @classmethod
    def _begin(
        cls, kind: type[Subject], name: str, checks: Mapping[str, Check[Any]], again: str
    ) -> None:
        limits = {"timeout_s": cls.timeout_s, "memory_mb": cls.memory_mb}
        cls._subject = kind(name, cls.options, **limits)
        cls._runner = Runner(list(checks.values()), cls._subject, again)

    @classmethod
    def teardown_class(cls) -> None:
        """Stop the plugin's processes."""
        cls._subject.close()

    def _require(self, check: str) -> None:
        result = self._runner.result(check)
        if result.outcome == "skipped":
            pytest.skip(result.reason)
        if result.outcome == "failed":
            pytest.fail(result.text(), pytrace=False)


class DomainConformance(_Conformance):
    """Subclass it with the name of a domain, and its options where they are not the defaults."""

    domain: ClassVar[str]

    @classmethod
    def setup_class(cls) -> None:
        """Prepare the checks; nothing is started before the first."""
        again = f"cascade check {cls.domain}"
        cls._begin(DomainSubject, cls.domain, domain_kit.CHECKS, again)

    @pytest.mark.parametrize("check", list(domain_kit.CHECKS))
    def test_check(self, check: str) -> None:
        """One check of the kit."""
        self._require(check)


class ModifierConformance(_Conformance):
    """The same for a reward modifier."""

    modifier: ClassVar[str]

    @classmethod
    def setup_class(cls) -> None:
        """Prepare the checks; nothing is started before the first."""
        again = f"cascade check {cls.modifier} --modifier"
        cls._begin(ModifierSubject, cls.modifier, modifier_kit.CHECKS, again)

    @pytest.mark.parametrize("check", list(modifier_kit.CHECKS))
    def test_check(self, check: str) -> None:
        """One check of the kit."""
        self._require(check)
