from cascade_rl.testing import DomainConformance


class TestCountdown(DomainConformance):
    domain = "countdown"
