"""The pack's options: one model for the cascade file, the command line and the service."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cascade_rl.types import Mode

Source = Literal["builtin", "problem_answer", "gsm8k", "math"]


class Options(BaseModel):
    """What to load and how to judge it; every field has a default that works offline."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Source = Field(
        default="builtin", description="where problems come from; builtin needs no data"
    )
    mode: Mode = Field(default="think", description="the mode of every prompt")
    seed: int = Field(default=0, description="order of builtin problems, and which are noisy")
    count: int | None = Field(
        default=None, gt=0, description="at most so many problems, before the split"
    )

    digits: int | None = Field(
        default=None, ge=1, le=4, description="builtin: operands of up to so many digits"
    )
    max_operand: int = Field(
        default=49, ge=1, le=9999, description="builtin: operands are 0..max_operand"
    )
    terms: int = Field(default=2, ge=2, le=4, description="builtin: operands in a sum")
    eval_share: float = Field(
        default=0.3, gt=0, lt=1, description="builtin: share of problems that only eval sees"
    )
    demonstration_noise: float = Field(
        default=0.3, ge=0, le=1, description="builtin: share of demonstrations that end wrong"
    )
    ramble: float = Field(
        default=0.0, ge=0, le=1, description="builtin: share whose thoughts repeat themselves"
    )

    @model_validator(mode="after")
    def _one_way_to_size(self) -> Self:
        if self.digits is not None and "max_operand" in self.model_fields_set:
            raise ValueError("give digits or max_operand, not both")
        return self

    @property
    def largest_operand(self) -> int:
        """The largest operand of a builtin problem."""
        return self.max_operand if self.digits is None else 10**self.digits - 1
