"""The text of ``cascade plan``: aligned columns that read well at 100 characters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cascade_rl.config.findings import Finding
from cascade_rl.config.provenance import Traced
from cascade_rl.config.resolve import DomainUse, Resolution, StageUse
from cascade_rl.types import Record

WIDTH = 100
_WIDEST_KEY, _WIDEST_VALUE = 34, 36  # a longer one pushes the rest of its line to the right

Row = tuple[str, Traced | None]  # None: the first part is a line of its own


def render_resolution(resolution: Resolution) -> str:
    """Every value of the cascade, the stages and the evaluation, with its origin."""
    config, source = resolution.config, resolution.source
    blocks = [_block(f"cascade {config.name}  ({source.file})", _cascade_rows(resolution))]
    for use in resolution.stages:
        blocks.append(_block(_headline(use, len(resolution.stages)), _stage_rows(use)))
    columns = f"evaluation of {', '.join(config.evaluated)}, before and after every stage"
    blocks.append(_block(columns, _evaluation_rows(resolution)))
    return "\n".join(blocks)


def render_findings(findings: Sequence[Finding]) -> str:
    """One wrapped paragraph a finding, each begun by its kind."""
    return "\n".join(
        textwrap.fill(
            f"{finding.kind + ':':12}{finding}",
            WIDTH,
            subsequent_indent=" " * 12,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for finding in findings
    )


def summary(resolution: Resolution | None, findings: Sequence[Finding]) -> str:
    """The last line: how large the cascade is, and how many findings of each kind."""
    counts = dict.fromkeys(("wrong", "unverified", "warning"), 0)
    for finding in findings:
        counts[finding.kind] += 1
    warnings = _count(counts["warning"], "warning")
    found = f"{counts['wrong']} wrong, {counts['unverified']} unverified here, {warnings}"
    if resolution is None:
        return found
    stages, steps = resolution.config.stages, sum(s.steps for s in resolution.config.stages)
    return f"{_count(len(stages), 'stage')}, {_count(steps, 'step')}: {found}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _cascade_rows(resolution: Resolution) -> Iterator[Row]:
    for key, value in resolution.values.items():
        unused_source = key.startswith("model.") and value.value is None
        if not key.startswith("evaluation.") and key != "name" and not unused_source:
            yield key, value


def _headline(use: StageUse, count: int) -> str:
    names = ", ".join(d.name for d in use.domains)
    return (
        f"stage {use.stage.index + 1} of {count}: {use.stage.name}  ({use.stage.kind} on {names})"
    )


def _stage_rows(use: StageUse) -> Iterator[Row]:
    yield from use.values.items()
    for domain in use.domains:
        yield from _domain_rows(domain, sampled=use.config.kind == "grpo")


def _evaluation_rows(resolution: Resolution) -> Iterator[Row]:
    for key, value in resolution.values.items():
        if key.startswith("evaluation."):
            yield key.removeprefix("evaluation."), value
    for use in resolution.evaluation:
        yield from _domain_rows(use, sampled=True)


def _domain_rows(use: DomainUse, sampled: bool) -> Iterator[Row]:
    known = "the pack's defaults are not known here, see below"
    yield f"{use.name} {use.domain.version if use.domain else f'({known})'}", None
    for key, value in use.values.items():
        if sampled or not key.startswith("sampling."):
            yield f"  {key}", value


def _block(head: str, rows: Iterable[Row]) -> str:
    listed = [(key, value, show(value.value) if value else "") for key, value in rows]
    key_width = min(max(len(key) for key, value, _ in listed if value), _WIDEST_KEY)
    value_width = min(max(len(shown) for _, _, shown in listed), _WIDEST_VALUE)
    lines = [head]
    for key, value, shown in listed:
        if value is None:
            lines.append(f"  {key}")
            continue
        left = f"  {key:{key_width}}  {shown:{value_width}}"
        if len(left) + 2 + len(value.origin) > WIDTH:
            lines.append(left.rstrip())
            left = " " * (key_width + value_width + 4)
        lines.append(f"{left}  {value.origin}")
    return "\n".join(lines) + "\n"


def show(value: Any) -> str:
    """A value much as YAML would write it, on one line and without control characters."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Record):
        return show(value.model_dump(exclude_none=True, exclude_defaults=True))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {show(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(show, value)) + "]" if value else "none"
    text = str(value)
    return text if text.isprintable() and text.strip() == text and text else repr(text)
