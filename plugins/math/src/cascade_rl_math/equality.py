"""``compare`` with all its rules: importing this module registers them."""

from __future__ import annotations

from cascade_rl_math import compare_groups, compare_relations, compare_values
from cascade_rl_math.compare import compare

__all__ = ["RULES", "compare"]

#: The modules whose rules ``compare`` applies.
RULES = (compare_values, compare_groups, compare_relations)
