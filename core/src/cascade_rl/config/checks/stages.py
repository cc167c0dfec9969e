"""Stages by themselves: groups, batches, schedules, gates, keys that would do nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from cascade_rl.config.checks.context import Context
from cascade_rl.config.findings import Finding
from cascade_rl.config.resolve import GRPO_ONLY, StageUse
from cascade_rl.config.schema import Knot, StageConfig
from cascade_rl.config.yaml_text import KeyPath
from cascade_rl.errors import CascadeError
from cascade_rl.types import Mode


def check_groups(context: Context) -> Iterator[Finding]:
    """A group needs two samples that can differ."""
    for stage in context.resolution.stages:
        for use in stage.domains if stage.config.kind == "grpo" else ():
            if use.resolved is None:
                continue
            n, temperature = use.values["sampling.n"], use.values["sampling.temperature"]
            if n.value < 2:
                text = (
                    f"n is {n.value} ({n.origin}); a batch cannot form one group of fewer than "
                    f"2 samples, as nothing could be compared"
                )
                yield context.finding("wrong", n.path or use.path, text)
            if temperature.value == 0:
                text = (
                    f"temperature is 0 ({temperature.origin}), so all {n.value} samples of a "
                    f"group would be equal; it must be above 0"
                )
                yield context.finding("wrong", temperature.path or use.path, text)


def check_modes(context: Context) -> Iterator[Finding]:
    """Shares of modes split a batch into whole prompts, and sampling is one for all modes."""
    for stage in context.resolution.stages:
        shares = stage.config.modes
        if shares:
            multiple = _smallest_batch(shares)
            if stage.config.batch_size % multiple:
                text = (
                    f"these shares cannot split batch_size {stage.config.batch_size} into whole "
                    f"prompts; batch_size must be a multiple of {multiple}"
                )
                yield context.finding("wrong", (*stage.path, "modes"), text)
        if stage.config.kind == "grpo":
            yield from _sampling_by_mode(context, stage)


def _smallest_batch(shares: dict[Mode, float]) -> int:
    exact = [Fraction(str(share)) for share in shares.values()]
    return math.lcm(*((share / sum(exact)).denominator for share in exact))


def _sampling_by_mode(context: Context, stage: StageUse) -> Iterator[Finding]:
    """The pack may sample differently in each mode; a stage has one set of values."""
    modes: list[Mode] = list(stage.config.modes or ("none", "think", "no_think"))
    for use in stage.domains:
        if use.domain is None:
            continue
        asked = stage.stage.model_copy()
        try:
            answers = {mode: use.domain.sampling_params(asked, mode).model_dump() for mode in modes}
        except CascadeError as error:
            yield context.finding("wrong", use.path, str(error))
            continue
        for key in ("temperature", "top_p", "top_k", "n"):
            given = use.values[f"sampling.{key}"]
            values = {mode: answer[key] for mode, answer in answers.items()}
            if given.path is None and len(set(values.values())) > 1:
                listed = ", ".join(f"{mode} {value:g}" for mode, value in values.items())
                text = (
                    f"the pack {use.name!r} samples modes differently ({key}: {listed}); this "
                    f"stage uses {given.value:g} for all, set sampling.{key} to choose"
                )
                yield context.finding("warning", use.path, text)


def check_schedules(context: Context) -> Iterator[Finding]:
    """Knots in order, reached, and with values that can be used."""
    for stage in context.resolution.stages:
        schedule = stage.config.schedule
        path: KeyPath = (*stage.path, "schedule")
        for key in ("temperature", "completion_tokens"):
            knots: tuple[Knot, ...] = getattr(schedule, key)
            yield from _order(context, stage.config, (*path, key), knots)
            for i, knot in enumerate(knots):
                whole = key == "temperature" or knot.value.is_integer()
                if knot.value == 0 or not whole:
                    wanted = "above 0" if key == "temperature" else "a whole number above 0"
                    text = f"must be {wanted}, got {knot.value:g}"
                    yield context.finding("wrong", (*path, key, i, "value"), text)


def _order(
    context: Context, config: StageConfig, path: KeyPath, knots: tuple[Knot, ...]
) -> Iterator[Finding]:
    for i, knot in enumerate(knots):
        at: KeyPath = (*path, i, "step")
        if i and knot.step <= knots[i - 1].step:
            text = f"knots out of order: step {knot.step} follows step {knots[i - 1].step}"
            yield context.finding("wrong", at, text)
        if knot.step >= config.steps:
            text = f"step {knot.step} is never reached: the stage has steps 0 to {config.steps - 1}"
            yield context.finding("warning", at, text)


def check_gates(context: Context) -> Iterator[Finding]:
    """A gate watches a column of the matrix."""
    columns = context.config.evaluated
    for stage in context.resolution.stages:
        for i, gate in enumerate(stage.config.gates):
            if gate.domain not in columns:
                text = (
                    f"a gate on {gate.domain!r}, which is not evaluated; "
                    f"evaluation.domains: {', '.join(columns)}"
                )
                yield context.finding("wrong", (*stage.path, "gates", i, "domain"), text)


def check_repeats(context: Context) -> Iterator[Finding]:
    """No list of domains names one twice."""
    lists: list[tuple[KeyPath, tuple[str, ...]]] = [
        (("evaluation", "domains"), context.config.evaluation.domains or ())
    ]
    for stage in context.resolution.stages:
        lists.append(((*stage.path, "domains"), stage.config.domain_names))
    for path, names in lists:
        for i, name in enumerate(names):
            if name in names[:i]:
                yield context.finding("wrong", (*path, i), f"{name!r} is listed twice; remove one")


def check_lengths(context: Context) -> Iterator[Finding]:
    """Warm-up and the rule for moving on fit into the stage's steps."""
    for stage in context.resolution.stages:
        steps, advance = stage.config.steps, stage.config.advance
        warmup = stage.config.optimizer.warmup_steps
        if warmup >= steps:
            text = f"{warmup} steps of warm-up, but the stage has {steps}: lr is never reached"
            yield context.finding("warning", (*stage.path, "optimizer", "warmup_steps"), text)
        for key in ("window", "min_steps"):
            value = getattr(advance, key, 0)
            if value >= steps:
                text = f"{key} is {value}, but the stage has {steps} steps: it never ends early"
                yield context.finding("warning", (*stage.path, "advance", key), text)


def check_idle_keys(context: Context) -> Iterator[Finding]:
    """Keys that an sft stage has no use for."""
    for stage in context.resolution.stages:
        if stage.config.kind != "sft":
            continue
        if stage.config.options:
            text = (
                "an sft stage may train several packs, so it takes no options; put them under "
                + " or ".join(f"domains.{name}.options" for name in stage.config.domain_names)
            )
            yield context.finding("wrong", (*stage.path, "options"), text)
        for key in sorted({*GRPO_ONLY, "sampling"}):
            if context.source.is_set((*stage.path, key)) or context.source.origin(
                (*stage.path, key)
            ):
                text = "has no effect in an sft stage"
                yield context.finding("warning", (*stage.path, key), text)
