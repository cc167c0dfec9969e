"""``report.html``: one file, no scripts, no requests; it opens anywhere, years later.

Completions and prompts are hostile text: jinja2 escapes everything, pictures are built from
escaped elements, and the page's content security policy forbids whatever would slip through.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cascade_rl_trainer.report.cells import Cell, cells, column_titles
from cascade_rl_trainer.report.chart import (
    Panel,
    format_tick,
    line_chart,
    moves_chart,
    moving_average,
    thinned,
)
from cascade_rl_trainer.report.heatmap import inline_svg
from cascade_rl_trainer.report.matrix import Matrix
from cascade_rl_trainer.report.run_data import RunData, StageData, number, read_run
from cascade_rl_trainer.state.files import write_text

LONGEST_TEXT = 1600  # characters of an example that are shown
TABLE_ROWS = 12

PANELS = (
    Panel("loss", "Loss", "nats per token"),
    Panel("reward", "Reward", "mean"),
    Panel("length", "Completion length", "tokens"),
    Panel("truncated", "Truncated", "% of samples", percent=True),
)
MORE_PANELS = (
    Panel("correct", "Correct", "% of samples", percent=True),
    Panel("zero_variance", "Groups without signal", "% of groups", percent=True),
    Panel("entropy", "Entropy", "nats per token"),
    Panel("grad_norm", "Gradient norm", "before clipping"),
    Panel("lr", "Learning rate", "AdamW"),
    Panel("temperature", "Sampling temperature", "no unit"),
    Panel("completion_tokens", "Completion budget", "tokens"),
    Panel("seconds", "Time a step", "seconds"),
)

# C0 and C1 controls but tab and newline, and lone surrogates: not allowed in HTML.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def write_report(run_dir: Path) -> Path:
    """Write ``report.html`` into a run folder from what lies there; returns its path.

    Raises ``RunError`` or ``DataError`` when the folder's records cannot be used.
    """
    path = run_dir / "report.html"
    write_text(path, render(read_run(run_dir)))
    return path


def render(data: RunData) -> str:
    """The page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"duration": duration, "clean": clean}
    template = environment.get_template("report.html.jinja")
    return template.render(
        record=data.record,
        matrix=data.matrix,
        picture=inline_svg(data.matrix) if data.matrix else None,
        titles=column_titles(data.matrix) if data.matrix else [],
        rows=cells(data.matrix) if data.matrix else [],
        stages=[_stage_view(stage, data.matrix) for stage in data.stages],
    )


def duration(seconds: float) -> str:
    """Seconds as people say them: "4.2 s", "3 min 20 s", "2 h 05 min"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def clean(value: Any) -> str:
    """Text for display: controls become the replacement character, the rest is kept."""
    return _UNPRINTABLE.sub("\ufffd", value if isinstance(value, str) else str(value))


def _stage_view(stage: StageData, matrix: Matrix | None) -> dict[str, Any]:
    """What the template shows of a stage, all of it ready to print."""
    row, above = _rows_of(stage, matrix)
    return {
        "stage": stage,
        "cells": list(zip(matrix.domains, row, strict=True)) if matrix and row else [],
        "moves": moves_chart(matrix.domains, row, above) if matrix and row else None,
        "panels": _panels(stage, PANELS),
        "more": _panels(stage, MORE_PANELS),
        "table": _table(stage),
        "samples": _sample_counts(stage),
        "rollouts": [_rollout_view(r.shown_as, r.record) for r in stage.rollouts],
    }


def _rows_of(stage: StageData, matrix: Matrix | None) -> tuple[Sequence[Cell], Sequence[Cell]]:
    if matrix is None or stage.name not in matrix.stages:
        return (), ()
    index, rows = matrix.stages.index(stage.name), cells(matrix)
    return rows[index], rows[max(0, index - 1)]


def _points(stage: StageData, key: str) -> list[tuple[int, float | None]]:
    return [(int(r.get("step", i)), number(r.get(key))) for i, r in enumerate(stage.metrics)]


def _panels(stage: StageData, panels: Sequence[Panel]) -> list[dict[str, Any]]:
    views = []
    for panel in panels:
        points = _points(stage, panel.key)
        if all(y is None for _, y in points) or (panel.key == "loss" and stage.kind != "sft"):
            continue
        views.append({"panel": panel, "svg": line_chart(panel, points), "way": _way(panel, points)})
    return views


def _way(panel: Panel, points: Sequence[tuple[int, float | None]]) -> str:
    """From where to where: the moving average at the first and at the last step."""
    smooth = moving_average(points, max(1, len(points) // 12))
    known = [y * (100 if panel.percent else 1) for _, y in smooth if y is not None]
    unit = " %" if panel.percent else ""
    return f"{format_tick(known[0])} → {format_tick(known[-1])}{unit}"


def _table(stage: StageData) -> dict[str, Any]:
    """The curves as numbers: means over up to a dozen spans of steps."""
    panels = [
        p for p in (*PANELS, *MORE_PANELS) if any(y is not None for _, y in _points(stage, p.key))
    ]
    columns = [thinned(_points(stage, p.key), TABLE_ROWS) if stage.metrics else [] for p in panels]
    rows = []
    for i, (step, _) in enumerate(columns[0] if columns else []):
        values = [column[i][1] for column in columns]
        rows.append([str(step), *map(_table_value, panels, values)])
    return {"panels": panels, "rows": rows}


def _table_value(panel: Panel, value: float | None) -> str:
    return "-" if value is None else format_tick(value * (100 if panel.percent else 1))


def _sample_counts(stage: StageData) -> str:
    if stage.kind == "sft":
        return ""
    if not stage.metrics or stage.unscored == 0:
        return "every sample was scored" if stage.metrics else ""
    kinds = ", ".join(f"{count} {status}" for status, count in stage.unscored_by_status.items())
    plural = "s" if stage.unscored != 1 else ""
    return f"{stage.unscored} sample{plural} not scored{f' ({kinds})' if kinds else ''}"


def _rollout_view(shown_as: str, record: dict[str, Any]) -> dict[str, Any]:
    reward = number(record.get("reward"))
    return {
        "shown_as": shown_as,
        "step": record.get("step"),
        "status": record.get("status", "scored"),
        "reward": "not scored" if reward is None else f"reward {format_tick(reward)}",
        "reason": record.get("reason") or "",
        "mode": record.get("mode", "none"),
        "expected": _cut(_as_text(record.get("ground_truth"))),
        "prompt": _cut(record.get("prompt", "")),
        "completion": _cut(record.get("completion", "")),
    }


def _as_text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _cut(value: Any) -> str:
    text = clean(value)
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]} … ({len(text) - LONGEST_TEXT:,} more characters)"
