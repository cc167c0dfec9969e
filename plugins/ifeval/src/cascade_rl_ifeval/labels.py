"""From the kwargs of a data file to the kwargs of a ground truth. Formats only, no checks.

Parquet gives every row the union of all fields and fills the rest with None or NaN; a
column with gaps becomes floats. Some files hold the label as text, in JSON or as a Python
literal.
"""

from __future__ import annotations

import ast
import json
import math
from typing import Any


def parse_label(value: Any) -> Any:
    """A label that may be stored as text: JSON first, then a Python literal.

    Raises ``ValueError`` with the text when it is neither.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
        shown = value if len(value) <= 80 else value[:77] + "..."
        raise ValueError(f"neither JSON nor a Python literal: {shown!r}") from error


def plain(value: Any) -> Any:
    """A value in JSON types: integral floats become int, arrays become lists."""
    if hasattr(value, "tolist"):  # numpy, from pandas or a dataset in numpy format
        value = value.tolist()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def is_filler(value: Any) -> bool:
    """Whether a value is what parquet puts where a row has no such field."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def clean_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """One instruction's arguments without filler, in JSON types."""
    return {name: plain(value) for name, value in arguments.items() if not is_filler(value)}
