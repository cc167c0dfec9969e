"""For tests only: nothing in the library imports it."""

from cascade_rl.testing.packs import write_pack

__all__ = ["write_pack"]
