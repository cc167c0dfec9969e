"""The pack's options: one model for the cascade file, the command line and the service."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cascade_rl.types import Mode

Source = Literal["builtin", "problem_answer", "gsm8k", "math"]

DEFAULT_SUFFIX = "\n\nGive the final answer inside \\boxed{}."


class Options(BaseModel):
    """What to load and how to judge it; every field has a default that works offline."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Source = Field(
        default="builtin", description="where problems come from; builtin needs no data"
    )
    mode: Mode = Field(default="think", description="the mode of every prompt")
    count: int | None = Field(default=None, gt=0, description="at most so many problems")
    time_limit_s: float = Field(
        default=1.0, gt=0, le=60, description="seconds for the symbolic layers of one comparison"
    )

    path: str | None = Field(default=None, description="a .jsonl or .parquet file of problems")
    eval_path: str | None = Field(
        default=None, description="the same for eval; without it a tenth of train is held out"
    )
    hub: str | None = Field(default=None, description="a dataset id, instead of path")
    hub_config: str | None = Field(default=None, description="the configuration of that dataset")
    prompt_suffix: str | None = Field(
        default=None, description="text after each problem; unset asks for \\boxed{}"
    )
    bad_rows: Literal["drop", "error"] = Field(
        default="drop", description="what to do with rows whose answer cannot be verified"
    )

    seed: int = Field(default=0, description="builtin: order, and which demonstrations are noisy")
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
    def _fields_fit(self) -> Self:
        if self.digits is not None and "max_operand" in self.model_fields_set:
            raise ValueError("give digits or max_operand, not both")
        places = [name for name in ("path", "hub") if getattr(self, name) is not None]
        if self.source == "builtin" and (places or self.eval_path is not None):
            raise ValueError(
                "source 'builtin' reads no data; with a path or hub, set source to"
                " problem_answer, gsm8k or math"
            )
        if self.source != "builtin" and len(places) != 1:
            raise ValueError(f"source {self.source!r} needs exactly one of path and hub")
        return self

    @property
    def largest_operand(self) -> int:
        """The largest operand of a builtin problem."""
        return self.max_operand if self.digits is None else 10**self.digits - 1

    @property
    def suffix(self) -> str:
        """The text that follows each problem."""
        if self.prompt_suffix is not None:
            return self.prompt_suffix
        return "" if self.source == "builtin" else DEFAULT_SUFFIX
