"""The cascade file as pydantic models: every key, its meaning, its default.

Importable without any machine-learning package. What a value ends up as, once the packs'
defaults are merged in, is ``resolve.py``'s business.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, PositiveFloat, PositiveInt, model_validator

from cascade_rl.types import Mode, Overlong, Record, StageKind

Fraction = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class BudgetOverride(Record):
    """The parts of a length budget (tokens) that replace the pack's."""

    prompt_tokens: PositiveInt | None = None
    completion_tokens: PositiveInt | None = None
    overlong: Overlong | None = None


class SamplingOverride(Record):
    """The parts of the sampling parameters that replace the pack's; ``n`` is the group size."""

    temperature: Annotated[float, Field(ge=0)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    n: PositiveInt | None = None


class DomainConfig(Record):
    """What holds for a domain in every stage and in every evaluation."""

    options: dict[str, JsonValue] = Field(default_factory=dict, description="The pack's options.")
    budget: BudgetOverride = BudgetOverride()
    sampling: SamplingOverride = SamplingOverride()


class BuildConfig(Record):
    """A small Qwen2-style model and a character tokenizer, made from nothing."""

    hidden_size: PositiveInt = 128
    intermediate_size: PositiveInt = 256
    layers: PositiveInt = 2
    heads: PositiveInt = 4
    kv_heads: PositiveInt = 2
    context: PositiveInt = Field(default=256, description="Longest sequence, in tokens.")


class LoraConfig(Record):
    """Train low-rank adapters instead of all weights; they are merged before saving."""

    r: PositiveInt = 16
    alpha: PositiveInt = 32
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj")


class ModelConfig(Record):
    """Where the first stage's model comes from: exactly one of ``path``, ``build``, ``gguf``."""

    path: str | None = Field(default=None, description="A Hugging Face folder, or a hub id.")
    build: BuildConfig | None = None
    gguf: str | None = Field(
        default=None,
        description="A GGUF file, or `package:NAME` for the one inside an installed package.",
    )
    lora: LoraConfig | None = None
    chat_template: Literal["flags", "own"] = Field(
        default="flags",
        description="`flags`: ChatML with /think and /no_think at the end of each user turn; "
        "`own`: the tokenizer's.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [n for n in ("path", "build", "gguf") if getattr(self, n) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of path, build, gguf; got {given or 'none'}")
        return self


class EvaluationConfig(Record):
    """The forgetting matrix: held-out prompts of every domain, after every stage."""

    domains: tuple[str, ...] | None = Field(default=None, description="Default: all named ones.")
    prompts: PositiveInt = Field(default=400, description="Held-out prompts a domain.")
    samples: PositiveInt = Field(default=4, description="Samples a prompt.")
    greedy: bool = Field(default=True, description="Also one greedy completion a prompt.")
    batch_size: PositiveInt = Field(default=256, description="Sequences sampled at once.")


class FilterConfig(Record):
    """Which prompts a GRPO stage leaves out because their group carries no signal.

    ``epoch``: after each pass over the prompts, drop those whose samples were all right or
    all wrong; each dropped one returns with the given probability in the next pass.
    ``in_batch``: replace prompts without variance until the batch is full, at most
    ``max_retries`` further draws of a batch.
    """

    kind: Literal["none", "epoch", "in_batch"] = "none"
    return_hard: Fraction = 0.10
    return_easy: Fraction = 0.01
    max_retries: Annotated[int, Field(ge=0)] = 3


class Knot(Record):
    """From this step of the stage on (0 is the first), this value."""

    step: Annotated[int, Field(ge=0)]
    value: Annotated[float, Field(ge=0)]


class ScheduleConfig(Record):
    """Values that change during a stage, piecewise constant."""

    temperature: tuple[Knot, ...] = ()
    completion_tokens: tuple[Knot, ...] = ()


class AdvanceConfig(Record):
    """End the stage early once the mean truncation rate of the last ``window`` steps is low."""

    truncation_below: Fraction
    window: PositiveInt = 10
    min_steps: Annotated[int, Field(ge=0)] = 0


class GateConfig(Record):
    """Compare a domain's score after the stage with the best row before it."""

    domain: str
    max_drop: Fraction = Field(description="In accuracy, 0 to 1.")
    action: Literal["warn", "stop"] = "warn"


class RewardTerm(Record):
    """One term of a weighted reward: a domain's score or a modifier's."""

    domain: str | None = None
    modifier: str | None = None
    weight: float = 1.0
    options: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.domain is None) == (self.modifier is None):
            raise ValueError("a reward term names either a `domain` or a `modifier`")
        return self

    @property
    def name(self) -> str:
        """The name under which the term is logged."""
        return self.domain or self.modifier or ""


class OptimizerConfig(Record):
    """AdamW. Defaults follow the paper (Appendix D)."""

    lr: PositiveFloat = 2e-6
    min_lr: Annotated[float, Field(ge=0)] = 0.0
    schedule: Literal["constant", "cosine"] = "constant"
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    betas: tuple[Fraction, Fraction] = (0.9, 0.95)
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    max_grad_norm: PositiveFloat = 1.0


class StageConfig(Record):
    """One stage. ``sft`` stages name ``domains``; ``grpo`` stages name one ``domain``."""

    name: Name
    kind: StageKind = "grpo"
    steps: PositiveInt
    domain: str | None = Field(default=None, description="grpo: whose prompts are trained on.")
    domains: dict[str, PositiveFloat] | tuple[str, ...] | None = Field(
        default=None, description="sft: whose demonstrations, a list or name: weight."
    )
    batch_size: PositiveInt = Field(
        default=128, description="grpo: prompts a step; sft: sequences a step."
    )
    micro_batch: PositiveInt = Field(default=64, description="Sequences in one backward pass.")
    optimizer: OptimizerConfig = OptimizerConfig()
    options: dict[str, JsonValue] = Field(
        default_factory=dict, description="grpo: overrides the domain's options."
    )
    budget: BudgetOverride = BudgetOverride()
    sampling: SamplingOverride = SamplingOverride()
    modes: dict[Mode, PositiveFloat] | None = Field(
        default=None, description="Share of each mode in every batch, e.g. {think: 1, no_think: 1}."
    )
    rewards: tuple[RewardTerm, ...] | None = Field(
        default=None, description="A weighted sum; default: the domain's score alone."
    )
    filter: FilterConfig = FilterConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    advance: AdvanceConfig | None = None
    gates: tuple[GateConfig, ...] = ()
    masked_in_group: bool = Field(
        default=False, description="Whether masked samples count in the group's mean and deviation."
    )
    no_signal: Literal["skip", "stop"] = Field(
        default="skip", description="What a batch without any usable group does to the stage."
    )
    max_unscored: Fraction = Field(
        default=0.02, description="Stop when more of the last 1,000 samples go unscored (min. 20)."
    )
    verl: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="backend verl: as the cascade's `verl`, for this stage; merged after it.",
    )

    @model_validator(mode="after")
    def _domains_fit_the_kind(self) -> Self:
        if self.kind == "sft":
            if not self.domains:
                raise ValueError("an sft stage needs `domains`, a list of at least one")
            if self.domain is not None:
                raise ValueError("an sft stage takes `domains`, not `domain`")
        elif self.domain is None:
            raise ValueError("a grpo stage needs `domain`")
        elif self.domains is not None:
            raise ValueError("a grpo stage takes one `domain`, not `domains`")
        if self.rewards is not None and not self.rewards:
            raise ValueError(
                "`rewards` needs at least one term (leave it out for the domain's score)"
            )
        return self

    @property
    def domain_names(self) -> tuple[str, ...]:
        """All domains that the stage trains on, in the file's order."""
        return (self.domain,) if self.domain is not None else tuple(self.domains or ())


class CascadeConfig(Record):
    """A whole cascade file."""

    name: Name
    stages: tuple[StageConfig, ...] = Field(min_length=1)
    model: ModelConfig
    seed: Annotated[int, Field(ge=0)] = 0
    output: str = Field(default="runs/{name}", description="Run folder; {name} is the cascade's.")
    backend: str = "local"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: Annotated[int, Field(gt=0, le=512)] | None = Field(
        default=None, description="CPU threads; default torch's."
    )
    checkpoint_every: PositiveInt = Field(default=10, description="Steps between checkpoints.")
    workers: Annotated[int, Field(ge=0)] = Field(
        default=1, description="Reward worker processes; 0 scores in the trainer's own process."
    )
    reward_timeout_s: PositiveFloat = Field(default=30.0, description="Wall clock a sample.")
    reward_memory_mb: PositiveInt | None = Field(
        default=None, description="Megabytes a reward worker; needs `workers`, and Linux."
    )
    reward_cache: str | None = Field(
        default=None, description="Folder that keeps verdicts, between stages and runs."
    )
    reward_ray: str | None = Field(
        default=None,
        description="Score on a Ray cluster (`auto`, or an address): `workers` on every node.",
    )
    domains: dict[str, DomainConfig] = Field(default_factory=dict)
    evaluation: EvaluationConfig = EvaluationConfig()
    verl: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="backend verl: any of verl's own keys, merged last and checked against its "
        "schema, e.g. {trainer: {nnodes: 2}}.",
    )

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [s.name for s in self.stages]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"stage names must be unique; twice: {', '.join(twice)}")
        if "before" in names:
            raise ValueError("'before' is the matrix's first row and cannot name a stage")
        return self

    @model_validator(mode="after")
    def _limits_have_workers(self) -> Self:
        for key in ("reward_memory_mb", "reward_ray"):
            if getattr(self, key) is not None and not self.workers:
                raise ValueError(f"{key} needs worker processes: set `workers` to 1 or more")
        return self

    @property
    def domain_names(self) -> tuple[str, ...]:
        """Every domain that is configured, trained or evaluated, in the file's order."""
        named = [*self.domains, *(d for s in self.stages for d in s.domain_names)]
        return tuple(dict.fromkeys([*named, *(self.evaluation.domains or ())]))

    @property
    def evaluated(self) -> tuple[str, ...]:
        """The columns of the forgetting matrix."""
        return self.evaluation.domains or self.domain_names
