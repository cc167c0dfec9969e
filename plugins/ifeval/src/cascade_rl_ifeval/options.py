"""What the pack can be told: the ``options:`` of a stage. Data only, nothing is read here."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cascade_rl.types import Overlong

Source = Literal["builtin", "ifeval_jsonl", "ifrl_parquet"]


class Options(BaseModel):
    """Options of the domain ``ifeval``; unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Source = Field(
        default="builtin",
        description="builtin: generated toy prompts; ifeval_jsonl, ifrl_parquet: real data",
    )
    path: Path | None = Field(default=None, description="a local data file (train split)")
    eval_path: Path | None = Field(
        default=None,
        description="a local data file for the eval split; without one a tenth is held out",
    )
    hub: str | None = Field(default=None, description="a dataset id, read through `datasets`")
    hub_split: str = Field(default="train", description="which split of the hub dataset is read")
    defects: Literal["refuse", "skip"] = Field(
        default="refuse",
        description="an unusable row stops the load, or is reported and left out",
    )
    mode: Literal["think", "no_think", "none"] = Field(
        default="no_think", description="mode of prompts read from data; builtin is no_think"
    )
    seed: int = Field(
        default=0, description="order of the builtin prompts, choice of wrong replies"
    )
    count: int | None = Field(default=None, gt=0, description="at most this many prompts a split")
    demonstrations: int = Field(default=1, ge=1, description="builtin: demonstrations per prompt")
    demonstration_noise: float = Field(
        default=0.3, ge=0, le=1, description="builtin: largest share of wrong demonstrations"
    )
    prompt_tokens: int | None = Field(default=None, gt=0, description="overrides the budget")
    completion_tokens: int | None = Field(default=None, gt=0, description="overrides the budget")
    overlong: Overlong | None = Field(default=None, description="overrides the budget")

    @model_validator(mode="after")
    def _one_place_to_read_from(self) -> Self:
        places = [name for name in ("path", "hub") if getattr(self, name) is not None]
        if self.source == "builtin":
            extra = [*places, *(["eval_path"] if self.eval_path is not None else [])]
            if extra:
                raise ValueError(
                    f"source 'builtin' reads no file, but {' and '.join(extra)} is set; "
                    "set source to ifeval_jsonl or ifrl_parquet, or remove it"
                )
        elif len(places) != 1:
            raise ValueError(
                f"source {self.source!r} needs exactly one of path and hub, "
                f"got {' and '.join(places) or 'neither'}"
            )
        return self
