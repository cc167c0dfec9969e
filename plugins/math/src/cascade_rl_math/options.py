"""The pack's options: one model for the cascade file, the command line and the service."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cascade_rl.types import Mode
from cascade_rl_math import language
from cascade_rl_math.rules import Rules

Source = Literal["builtin", "problem_answer", "gsm8k", "math"]

DEFAULT_SUFFIX = "\n\nGive the final answer inside \\boxed{}."
#: Options that a request to the service may set: they reach no path, no network, no process.
_REMOTE: dict[str, Any] = {"remote": True}


class Judging(BaseModel):
    """How an answer is found and compared; a prompt's ``metadata["verify"]`` may override each."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    order: Literal["as_written", "required", "ignored"] = Field(
        default="as_written",
        description="bare lists have none and tuples have one; or all have; or none has",
        json_schema_extra=_REMOTE,
    )
    units: Literal["optional", "required"] = Field(
        default="optional",
        description="whether an answer may leave out the unit of the gold",
        json_schema_extra=_REMOTE,
    )
    precision: int | None = Field(
        default=None,
        ge=0,
        le=50,
        description="decimal places to which numbers must agree; unset: a decimal gold's own",
        json_schema_extra=_REMOTE,
    )
    percent: Literal["either", "strict"] = Field(
        default="either",
        description="whether 10 % may be written 10, or only 0.1",
        json_schema_extra=_REMOTE,
    )
    choices: bool = Field(
        default=False,
        description="golds are choice letters: small letters and several letters count too",
        json_schema_extra=_REMOTE,
    )
    unboxed: Literal["never", "marked", "last_sentence"] = Field(
        default="never",
        description='answers without a box: after "the answer is" or ####; or in the last sentence',
        json_schema_extra=_REMOTE,
    )
    abstain_unparsed: bool = Field(
        default=False,
        description="leave an answer that cannot be read unscored instead of wrong",
        json_schema_extra=_REMOTE,
    )

    def rules(self) -> Rules:
        """What the comparison needs of these."""
        return Rules(self.order, self.units, self.precision, self.percent, self.choices)


class Options(Judging):
    """What to load and how to judge it; every field has a default that works offline."""

    source: Source = Field(
        default="builtin", description="where problems come from; builtin needs no data"
    )
    mode: Mode = Field(default="think", description="the mode of every prompt")
    count: int | None = Field(default=None, gt=0, description="at most so many problems")
    time_limit_s: float = Field(
        default=0.5, gt=0, le=60, description="seconds for the dear layers of one comparison"
    )
    language: str | None = Field(
        default=None,
        pattern="^[a-z]{2,3}$",
        description="a code such as en: thoughts in another language score -1",
    )
    language_min_letters: int = Field(
        default=80, ge=40, description="letters of a stretch of thoughts to judge the language by"
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

    @model_validator(mode="after")
    def _detector_is_there(self) -> Self:
        if self.language is not None and not language.is_installed():
            raise ValueError(
                f"language {self.language!r} needs the package py3langid;"
                " pip install 'cascade-rl-math[language]', or leave the option out"
            )
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
