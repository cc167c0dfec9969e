"""How strictly answers are compared: what a stage, or one prompt, may choose."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Rules(NamedTuple):
    """The choices; ``options`` describes each for users."""

    order: Literal["as_written", "required", "ignored"] = "as_written"
    units: Literal["optional", "required"] = "optional"
    precision: int | None = None
    percent: Literal["either", "strict"] = "either"
    choices: bool = False


DEFAULT = Rules()
