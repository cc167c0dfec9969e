"""Prompts and demonstrations: are there any, and enough? Asks the packs; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Iterator

from cascade_rl.config.checks.context import Context
from cascade_rl.config.findings import Finding
from cascade_rl.config.resolve import DomainUse, StageUse
from cascade_rl.config.yaml_text import KeyPath
from cascade_rl.errors import CascadeError


def check_data(context: Context) -> Iterator[Finding]:
    """Every stage trains on something, and every column of the matrix has prompts."""
    for stage in context.resolution.stages:
        yield from (_sft if stage.config.kind == "sft" else _grpo)(context, stage)
    for use in context.resolution.evaluation:
        yield from _evaluation(context, use)


def _grpo(context: Context, stage: StageUse) -> Iterator[Finding]:
    for use in stage.domains:
        yield from _hub(context, use)
        if not _readable(use):
            continue
        count = context.prompts(use, "train")
        size = stage.config.batch_size
        if isinstance(count, CascadeError):
            yield from _pack_failed(context, use, count)
        elif count == 0:
            text = f"domain {use.name!r} has no prompts to train on with these options"
            yield context.finding("wrong", use.path, text)
        elif count < size:
            text = (
                f"batch_size is {size}, but domain {use.name!r} has {count} prompts, so a batch "
                f"would hold a prompt twice; use at most {count}"
            )
            yield context.finding("wrong", _given(context, (*stage.path, "batch_size")), text)


def _sft(context: Context, stage: StageUse) -> Iterator[Finding]:
    total, known = 0, True
    for use in stage.domains:
        yield from _hub(context, use)
        if not _readable(use) or use.domain is None:
            known = False
        elif "load_demonstrations" not in use.domain.hooks:
            known = False
            text = (
                f"the pack {use.name!r} ({use.domain.distribution} {use.domain.version}) has no "
                f"load_demonstrations, so an sft stage cannot train on it"
            )
            yield context.finding("wrong", use.path, text)
        else:
            count = context.demonstrations(use)
            if isinstance(count, CascadeError):
                known = False
                yield from _pack_failed(context, use, count)
                continue
            total += count
            if count == 0:
                text = f"domain {use.name!r} has no demonstrations with these options"
                yield context.finding("wrong", use.path, text)
    if known and 0 < total < stage.config.batch_size:
        text = (
            f"batch_size is {stage.config.batch_size}, but there are {total} demonstrations: "
            f"they repeat within one batch"
        )
        yield context.finding("warning", _given(context, (*stage.path, "batch_size")), text)


def _evaluation(context: Context, use: DomainUse) -> Iterator[Finding]:
    yield from _hub(context, use)
    if not _readable(use):
        return
    count, asked = context.prompts(use, "eval"), context.config.evaluation.prompts
    if isinstance(count, CascadeError):
        yield from _pack_failed(context, use, count)
    elif count == 0:
        text = f"domain {use.name!r} has no held-out prompts to evaluate with these options"
        yield context.finding("wrong", use.path, text)
    elif count < asked:
        text = f"domain {use.name!r} has {count} held-out prompts of the {asked} asked for"
        yield context.finding("warning", _given(context, ("evaluation", "prompts")), text)


def _hub(context: Context, use: DomainUse) -> Iterator[Finding]:
    """Data on a hub is not looked up."""
    hub = use.values.get("options.hub")
    if hub is not None and hub.value and use.domain is not None:
        text = f"the data of {use.name!r} is on a hub ({hub.value}), which plan does not look up"
        yield context.finding("unverified", hub.path or use.path, text)


def _readable(use: DomainUse) -> bool:
    hub = use.values.get("options.hub")
    return use.domain is not None and not (hub is not None and hub.value)


def _pack_failed(context: Context, use: DomainUse, error: CascadeError) -> Iterator[Finding]:
    """Points at the option whose value the error names (a missing file), else at the domain."""
    if not context.first(error):
        return
    named = (
        value.path
        for key, value in use.values.items()
        if key.startswith("options.") and isinstance(value.value, str) and value.path
        if len(value.value) > 3 and value.value in str(error)
    )
    yield context.finding("wrong", next(named, use.path), str(error))


def _given(context: Context, path: KeyPath) -> KeyPath:
    """The key where it is given, else its section, so that the line means something."""
    return path if context.source.origin(path) else path[:-1]
