"""Packs, reward terms and the backend: are they here, and do they take their options?"""

from __future__ import annotations

from collections.abc import Iterator

from cascade_rl.config.checks.context import Context
from cascade_rl.config.findings import Finding
from cascade_rl.config.provenance import layer
from cascade_rl.config.resolve import DomainUse, StageUse
from cascade_rl.config.schema import RewardTerm
from cascade_rl.config.yaml_text import KeyPath
from cascade_rl.errors import BadOptions, CascadeError, UnknownDomain
from cascade_rl.hooks import BACKEND_GROUP
from cascade_rl.registry import did_you_mean

TRAINER = "cascade-rl-trainer"
TRAINER_BACKENDS = ("local", "verl")


def check_packs(context: Context) -> Iterator[Finding]:
    """A pack that is not installed is unverified; a broken one, or bad options, is wrong."""
    for use in context.resolution.uses:
        if use.error is not None and context.first(use.error):
            yield from _pack_error(context, use, use.error)


def _pack_error(context: Context, use: DomainUse, error: CascadeError) -> Iterator[Finding]:
    if isinstance(error, UnknownDomain):
        yield context.finding("unverified", use.path, str(error))
    elif isinstance(error, BadOptions):
        for key, text in error.problems:
            path = _option_path(use, key)
            yield context.finding("wrong", path, f"{text}, says the pack {use.name!r}")
    else:
        yield context.finding("wrong", use.path, str(error))


def _option_path(use: DomainUse, key: str) -> KeyPath:
    """Where the file gives an option ("a.b": where it gives a); its section for "(all)"."""
    given = {k: v.path for k, v in use.values.items() if k.startswith("options.") and v.path}
    exact = given.get(f"options.{key}") or given.get(f"options.{key.partition('.')[0]}")
    if exact:
        return exact
    return next(iter(given.values()))[:-1] if given else use.path


def check_rewards(context: Context) -> Iterator[Finding]:
    """Every reward term names something installed, with options that it takes."""
    for stage in context.resolution.stages:
        for i, term in enumerate(stage.config.rewards or ()):
            path: KeyPath = (*stage.path, "rewards", i)
            try:
                _open_term(context, stage, term)
            except BadOptions as error:
                for key, text in error.problems:
                    at = (*path, "options", *([key] if key in term.options else []))
                    yield context.finding("wrong", at, f"{text}, says the pack {term.name!r}")
            except UnknownDomain as error:
                if term.modifier:
                    yield context.finding("wrong", (*path, "modifier"), str(error))
                elif context.first(error):
                    yield context.finding("unverified", (*path, "domain"), str(error))
            except CascadeError as error:
                yield context.finding("wrong", path, str(error))


def _open_term(context: Context, stage: StageUse, term: RewardTerm) -> None:
    if term.modifier is not None:
        context.registry.modifier(term.modifier, term.options)
        return
    name = term.domain or ""
    layers: list[tuple[KeyPath, dict[str, object]]] = []
    if name in context.config.domains:
        layers.append((("domains", name, "options"), dict(context.config.domains[name].options)))
    if name == stage.config.domain:
        layers.append(((*stage.path, "options"), dict(stage.config.options)))
    merged = {k: v.value for k, v in layer(context.source, layers).items()}
    context.registry.open(name, {**merged, **term.options})


def check_backend(context: Context) -> Iterator[Finding]:
    """The backend is installed, or comes with the trainer, which is not."""
    known = context.registry.discovery.names(BACKEND_GROUP)
    name = context.backend
    if name in known:
        return
    trainer_here = any(a.distribution == TRAINER for a in context.registry.discovery.announcements)
    if name in TRAINER_BACKENDS and not trainer_here:
        text = f"backend {name!r} is not installed here: pip install {TRAINER}"
        found = context.finding("unverified", ("backend",), text)
    else:
        hint = did_you_mean(name, known, ".")
        text = f"no backend {name!r} is installed{hint} Installed: {', '.join(known) or 'none'}"
        found = context.finding("wrong", ("backend",), text)
    if context.backend_asked:
        found = found.model_copy(update={"where": "--backend", "key": ""})
    yield found
