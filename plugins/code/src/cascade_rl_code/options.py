"""The pack's options: one model for the cascade file, the command line and the service."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from cascade_rl.types import Mode

Source = Literal[
    "builtin",
    "jsonl",
    "humaneval",
    "mbpp",
    "acecode",
    "leetcode",
    "livecodebench",
    "apps",
    "taco",
    "code_contests",
    "deepcoder",
]
Isolation = Literal["auto", "bubblewrap", "docker", "remote", "none"]

_REMOTE: dict[str, JsonValue] = {"remote": True}


class Options(BaseModel):
    """What to load and how to judge it; every field has a default that works offline."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Source = Field(default="builtin", description="the layout of the data")
    path: Path | None = Field(default=None, description=".jsonl (.gz), .json or .parquet file")
    eval_path: Path | None = Field(
        default=None, description="the same for eval; without it a tenth of train is held out"
    )
    hub: str | None = Field(default=None, description="a dataset id, instead of path")
    hub_config: str | None = Field(default=None, description="the configuration of that dataset")
    mode: Mode = Field(default="think", description="the mode of every prompt")
    count: int | None = Field(default=None, gt=0, description="at most so many problems")
    language: str = Field(
        default="python", description="of the answers, where the data leaves it open"
    )
    prompt_suffix: str | None = Field(
        default=None, description="text after each problem; unset asks for a code block"
    )

    bad_rows: Literal["drop", "error"] = Field(
        default="drop", description="what to do with problems that cannot be judged"
    )
    min_tests: int = Field(default=1, ge=1, description="problems with fewer tests are bad rows")
    max_tests: int | None = Field(
        default=None, ge=1, description="of more tests only those with the longest inputs are kept"
    )
    many_answers: Literal["drop", "keep"] = Field(
        default="drop",
        description="problems that say they take any of several answers, and have no checker",
    )
    check_solutions: bool = Field(
        default=False, description="run each reference solution; failing ones make a bad row"
    )
    time_factor: float = Field(
        default=3.0, gt=0, description="python: the data's time limits, meant for C++, times this"
    )

    reward: Literal["all", "fraction"] = Field(
        default="all",
        description="1 where every test passes, else 0; or the share of tests or points",
        json_schema_extra=_REMOTE,
    )
    language_mixing: Literal["zero", "ignore"] = Field(
        default="zero",
        description="the score of a reply that mixes another script into an English problem",
        json_schema_extra=_REMOTE,
    )
    tolerance: float = Field(
        default=1e-6,
        ge=0,
        lt=1,
        description="absolute or relative, where the ground truth has none; 0: exact",
        json_schema_extra=_REMOTE,
    )
    cpu_s: float = Field(default=6.0, gt=0, le=600, description="CPU seconds a test")
    total_cpu_s: float = Field(
        default=20.0, gt=0, description="CPU seconds an answer, all tests together; beyond: wrong"
    )
    memory_mb: int = Field(default=1024, ge=16, description="memory of a test")

    isolation: Isolation = Field(
        default="auto", description="the sandbox; none isolates nothing and is never chosen for you"
    )
    sandbox_url: str | None = Field(default=None, description="of a SandboxFusion server")
    sandbox_image: str | None = Field(default=None, description="a docker image")
    testlib: Path | None = Field(
        default=None, description="a testlib.h for checkers; unset: the subset in this package"
    )

    @model_validator(mode="after")
    def _one_place_to_read_from(self) -> Self:
        places = [name for name in ("path", "hub") if getattr(self, name) is not None]
        if self.source == "builtin" and (places or self.eval_path is not None):
            raise ValueError(
                "source 'builtin' reads no data; with a path or hub, set source to the layout"
                " of that data (jsonl is this pack's own)"
            )
        if self.source != "builtin" and len(places) != 1:
            raise ValueError(f"source {self.source!r} needs exactly one of path and hub")
        return self
