"""Pack default < cascade file (a domain's section < a stage's) < ``--set``, key by key.

``trace`` goes as far as the installed packs allow and keeps each error where it arose, for
``cascade plan``; ``resolve`` is what a backend gets, or an error. Loads no prompts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from cascade_rl.config.provenance import Traced, Values, layer, trace_key, trace_model
from cascade_rl.config.resolved import ResolvedCascade, ResolvedDomain, ResolvedStage
from cascade_rl.config.schema import CascadeConfig, DomainConfig, StageConfig
from cascade_rl.config.source import Source
from cascade_rl.config.yaml_text import KeyPath
from cascade_rl.errors import CascadeError, ConfigError
from cascade_rl.registry import Domain, Registry
from cascade_rl.types import LengthBudget, Mode, Record, SamplingParams, Stage

#: Keys of a stage that are shown with its domains (or that say which they are).
_MERGED = frozenset({"name", "kind", "options", "budget", "sampling"})
GRPO_ONLY = frozenset(
    {
        "domain",
        "filter",
        "schedule",
        "rewards",
        "advance",
        "masked_in_group",
        "no_signal",
        "max_unscored",
        "verl",
    }
)


@dataclass(frozen=True)
class DomainUse:
    """A domain as one stage or one evaluation uses it, or why it cannot be used.

    ``path`` is where the file names the domain; ``values`` holds what is known of it,
    without the pack's defaults when there is an ``error``.
    """

    name: str
    path: KeyPath
    values: Values
    domain: Domain | None = None
    resolved: ResolvedDomain | None = None
    error: CascadeError | None = None


@dataclass(frozen=True)
class StageUse:
    """One stage: its own values and those of its domains."""

    stage: Stage
    config: StageConfig
    path: KeyPath
    values: Values
    domains: tuple[DomainUse, ...]

    @property
    def origins(self) -> dict[str, str]:
        """Dotted key to origin; the keys of an sft stage's domains begin with ``domains.X.``."""
        found = {key: value.origin for key, value in self.values.items()}
        for use in self.domains:
            prefix = f"domains.{use.name}." if self.config.kind == "sft" else ""
            found |= {prefix + key: value.origin for key, value in use.values.items()}
        return found


@dataclass(frozen=True)
class Resolution:
    """A cascade with all that could be decided here."""

    source: Source
    config: CascadeConfig
    values: Values
    stages: tuple[StageUse, ...]
    evaluation: tuple[DomainUse, ...]

    @property
    def uses(self) -> tuple[DomainUse, ...]:
        """Every use of a domain, stages first."""
        return (*(use for stage in self.stages for use in stage.domains), *self.evaluation)

    def cascade(self) -> ResolvedCascade:
        """What a backend gets.

        Raises the pack's own error where there is one, ``ConfigError`` with all where there
        are several.
        """
        errors = {str(use.error): use.error for use in self.uses if use.error is not None}
        if len(errors) == 1:
            raise next(iter(errors.values()))
        if errors:
            raise ConfigError("\n".join(errors))
        return self._cascade(_from_pack)

    def planned(self) -> ResolvedCascade:
        """As ``cascade``, to be shown and never run: a missing pack stops nothing.

        A domain without its pack is what the file alone says of it; where that is not all its
        budget and sampling, the stage (or the evaluation) comes without the domain.
        """
        return self._cascade(_from_file)

    def _cascade(self, resolved: Callable[[DomainUse], ResolvedDomain | None]) -> ResolvedCascade:
        def found(uses: tuple[DomainUse, ...]) -> tuple[ResolvedDomain, ...]:
            return tuple(domain for domain in map(resolved, uses) if domain is not None)

        return ResolvedCascade(
            config=self.config,
            stages=tuple(
                ResolvedStage(
                    stage=use.stage,
                    config=use.config,
                    domains=found(use.domains),
                    origins=use.origins,
                )
                for use in self.stages
            ),
            evaluation=found(self.evaluation),
            origins={key: value.origin for key, value in self.values.items()},
        )


def _from_pack(use: DomainUse) -> ResolvedDomain | None:
    return use.resolved


def _from_file(use: DomainUse) -> ResolvedDomain | None:
    budget, sampling = _section(use.values, "budget"), _section(use.values, "sampling")
    decided = (
        budget.keys() == LengthBudget.model_fields.keys()
        and sampling.keys() == SamplingParams.model_fields.keys()
    )
    if use.resolved is not None or not decided:
        return use.resolved
    return ResolvedDomain(
        name=use.name,
        options=_section(use.values, "options"),
        budget=LengthBudget(**budget),
        sampling=SamplingParams(**sampling),
    )


def resolve(source: Source, config: CascadeConfig, registry: Registry) -> ResolvedCascade:
    """Everything decided; raises ``PackError`` or ``ConfigError`` where a pack is unusable."""
    return trace(source, config, registry).cascade()


def trace(source: Source, config: CascadeConfig, registry: Registry) -> Resolution:
    """Decide all that can be decided with the installed packs; never raises for a pack."""
    resolver = _Resolver(source, config, registry)
    stages = tuple(resolver.stage(i, stage) for i, stage in enumerate(config.stages))
    return Resolution(
        source=source,
        config=config,
        values=trace_model(source, config, (), skip=frozenset({"stages", "domains"})),
        stages=stages,
        evaluation=tuple(resolver.evaluation(name, stages) for name in config.evaluated),
    )


def output_folder(config: CascadeConfig) -> Path:
    """The run's folder, from the working directory."""
    return Path(config.output.replace("{name}", config.name)).expanduser()


def main_mode(config: StageConfig) -> Mode:
    """The mode for which a stage's sampling is asked: its largest share, ``none`` without."""
    return (
        max(config.modes, key=lambda mode: (config.modes or {})[mode]) if config.modes else "none"
    )


class _Resolver:
    def __init__(self, source: Source, config: CascadeConfig, registry: Registry) -> None:
        self.source, self.config, self.registry = source, config, registry

    def stage(self, index: int, config: StageConfig) -> StageUse:
        path: KeyPath = ("stages", index)
        own = layer(self.source, self._layers("options", config.domain_names[0], index))
        sft = config.kind == "sft"
        stage = Stage(
            name=config.name,
            kind=config.kind,
            index=index,
            options={} if sft else {k: v.value for k, v in own.items()},
        )
        skip = _MERGED | (GRPO_ONLY if sft else {"domains"})
        return StageUse(
            stage=stage,
            config=config,
            path=path,
            values=trace_model(self.source, config, path, skip),
            domains=tuple(
                self._use(name, (*path, *_named_at(config, i)), stage, index)
                for i, name in enumerate(config.domain_names)
            ),
        )

    def evaluation(self, name: str, stages: tuple[StageUse, ...]) -> DomainUse:
        """As the last stage that trains the domain, else the last one, is asked for."""
        trains = [use for use in stages if name in use.config.domain_names]
        stage = (trains or stages)[-1].stage
        path: KeyPath = ("domains", name)
        if self.config.evaluation.domains:
            path = ("evaluation", "domains", self.config.evaluation.domains.index(name))
        elif trains:
            path = next(u.path for u in trains[-1].domains if u.name == name)
        samples = self.config.evaluation.samples
        fixed = {
            "budget.overlong": Traced("keep", "evaluation"),
            "sampling.n": trace_key(self.source, ("evaluation", "samples"), samples),
        }
        return self._use(name, path, stage, None, fixed)

    def _use(
        self,
        name: str,
        path: KeyPath,
        stage: Stage,
        index: int | None,
        fixed: Values | None = None,
    ) -> DomainUse:
        options = layer(self.source, self._layers("options", name, index))
        given = {f"options.{k}": v for k, v in options.items()}
        for section in ("budget", "sampling"):
            values = layer(self.source, self._layers(section, name, index))
            given |= {f"{section}.{k}": v for k, v in values.items()}
        given |= fixed or {}
        plain = {k: v.value for k, v in options.items()}
        try:
            domain = self.registry.open(name, plain)
            asked = stage.model_copy(update={"options": plain})
            mode = main_mode(self.config.stages[stage.index])
            defaults = _defaults(domain, asked, mode)
        except CascadeError as error:
            return DomainUse(name, path, given, error=error)
        values = defaults | given
        resolved = ResolvedDomain(
            name=name,
            options=plain,
            budget=LengthBudget(**_section(values, "budget")),
            sampling=SamplingParams(**_section(values, "sampling")),
        )
        return DomainUse(name, path, values, domain, resolved)

    def _layers(
        self, section: str, name: str, index: int | None
    ) -> list[tuple[KeyPath, dict[str, Any]]]:
        """The sections that speak about a domain, weakest first."""
        domain = self.config.domains.get(name, DomainConfig())
        layers: list[tuple[KeyPath, dict[str, Any]]] = [
            (("domains", name, section), _plain(getattr(domain, section)))
        ]
        if index is None:
            return layers
        stage = self.config.stages[index]
        if section == "options" and stage.kind == "sft":  # they would go to several packs
            return layers
        return [*layers, (("stages", index, section), _plain(getattr(stage, section)))]


def _named_at(config: StageConfig, i: int) -> KeyPath:
    if config.domain is not None:
        return ("domain",)
    return ("domains", config.domain_names[i] if isinstance(config.domains, dict) else i)


def _plain(section: Record | dict[str, Any]) -> dict[str, Any]:
    return section.model_dump(exclude_none=True) if isinstance(section, Record) else section


def _section(values: Values, section: str) -> dict[str, Any]:
    prefix = f"{section}."
    return {k.removeprefix(prefix): v.value for k, v in values.items() if k.startswith(prefix)}


def _defaults(domain: Domain, stage: Stage, mode: Mode) -> Values:
    """The pack's own word on everything, in the order in which it is shown."""
    sections: dict[str, Any] = {
        "options": domain.options,
        "budget": domain.length_budget(stage),
        "sampling": domain.sampling_params(stage, mode),
    }
    origin = f"pack {domain.name} {domain.version}"
    return {
        f"{section}.{key}": Traced(getattr(model, key), origin)
        for section, model in sections.items()
        if isinstance(model, BaseModel)
        for key in type(model).model_fields
    }
