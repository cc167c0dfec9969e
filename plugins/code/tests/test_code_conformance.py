"""The kit that every pack must pass."""

from cascade_rl.testing import DomainConformance


class TestCode(DomainConformance):
    domain = "code"
