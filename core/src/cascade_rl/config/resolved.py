"""What a backend gets: stages whose every value is decided, with its origin."""

from __future__ import annotations

from pydantic import Field, JsonValue

from cascade_rl.config.schema import CascadeConfig, StageConfig
from cascade_rl.types import LengthBudget, Record, SamplingParams, Stage


class ResolvedDomain(Record):
    """A domain as one stage or one evaluation uses it."""

    name: str
    options: dict[str, JsonValue]
    budget: LengthBudget
    sampling: SamplingParams


class ResolvedStage(Record):
    """A stage with the packs' defaults merged in.

    ``domains`` holds one entry for a grpo stage and one for each demonstration source of an
    sft stage. ``origins`` maps a dotted key of the stage ("budget.overlong") to where its
    value came from: a line of the file, ``--set``, a pack, or the schema's default.
    """

    stage: Stage
    config: StageConfig
    domains: tuple[ResolvedDomain, ...]
    origins: dict[str, str] = Field(default_factory=dict)


class ResolvedCascade(Record):
    """Everything a backend needs; ``evaluation`` has one entry a column of the matrix.

    ``origins`` is that of the keys outside the stages ("seed", "model.build.layers").
    """

    config: CascadeConfig
    stages: tuple[ResolvedStage, ...]
    evaluation: tuple[ResolvedDomain, ...]
    origins: dict[str, str] = Field(default_factory=dict)
