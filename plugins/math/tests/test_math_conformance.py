"""The kit that every pack must pass."""

from cascade_rl.testing import DomainConformance


class TestMath(DomainConformance):
    domain = "math"
