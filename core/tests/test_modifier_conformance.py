"""Our own modifiers pass the kit that anybody's must pass."""

from cascade_rl.testing import ModifierConformance


class TestFormat(ModifierConformance):
    modifier = "format"


class TestLanguageMixing(ModifierConformance):
    modifier = "language_mixing"


class TestLength(ModifierConformance):
    modifier = "length"


class TestRepetition(ModifierConformance):
    modifier = "repetition"
