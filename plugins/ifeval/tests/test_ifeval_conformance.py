"""The kit that every pack must pass."""

from cascade_rl.testing import DomainConformance


class TestIfeval(DomainConformance):
    domain = "ifeval"
