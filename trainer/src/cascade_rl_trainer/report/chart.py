"""Small line charts of a stage's metrics, and the arrows that show what a stage changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cascade_rl_trainer.report.cells import Cell
from cascade_rl_trainer.report.svg import shorten, tag, text

Point = tuple[int, float | None]

WIDTH, HEIGHT = 340, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 14, 34
MOST_POINTS = 160


@dataclass(frozen=True)
class Panel:
    """One curve: the metric's key, its title, its unit; ``percent`` for shares from 0 to 1."""

    key: str
    title: str
    unit: str
    percent: bool = False


def line_chart(panel: Panel, points: Sequence[Point]) -> Markup:
    """A metric over the steps of a stage: faint as measured, strong as a moving average."""
    scaled = [(x, None if y is None else y * (100 if panel.percent else 1)) for x, y in points]
    thin = thinned(scaled, MOST_POINTS)
    smooth = moving_average(thin, max(1, len(thin) // 12))
    values = [y for _, y in thin if y is not None]
    ticks = nice_ticks(min([0.0, *values]), max(values))
    frame = _Frame(scaled[0][0], max(scaled[-1][0], scaled[0][0] + 1), ticks[0], ticks[-1])
    return tag(
        "svg",
        tag("title", f"{panel.title} ({panel.unit}) by step"),
        _axes(frame, ticks),
        _line(frame, thin, "raw"),
        _line(frame, smooth, "smooth"),
        *_end_mark(frame, smooth),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        class_="chart",
    )


def moves_chart(domains: Sequence[str], row: Sequence[Cell], above: Sequence[Cell]) -> Markup:
    """Where each domain's score went in a stage, from the row above to this row, 0 to 100 %."""
    line = 26
    height = line * len(domains) + 20
    parts = [_scale(height)]
    for i, (domain, cell, before) in enumerate(zip(domains, row, above, strict=True)):
        parts.append(_move(domain, cell, before, 6 + line * i + line / 2))
    return tag(
        "svg",
        tag("title", "Change of each domain's accuracy in this stage"),
        *parts,
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        class_="chart moves",
    )


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most ``most`` points: the mean of each bin, at its last step."""
    size = math.ceil(len(points) / most)
    bins = [points[i : i + size] for i in range(0, len(points), size)]
    return [(part[-1][0], _mean([y for _, y in part])) for part in bins]


def moving_average(points: Sequence[Point], radius: int) -> list[Point]:
    """The mean of the points within ``radius`` on either side; a gap stays a gap."""
    averaged: list[Point] = []
    for i, (x, y) in enumerate(points):
        near = points[max(0, i - radius) : i + radius + 1]
        averaged.append((x, None if y is None else _mean([v for _, v in near])))
    return averaged


def nice_ticks(low: float, high: float) -> list[float]:
    """Round values, three to six of them, the first at most ``low``, the last at least ``high``."""
    high = high if high > low else low + (abs(low) or 1.0)
    raw = (high - low) / 4
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(f * unit for f in (1, 2, 2.5, 5, 10) if f * unit >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def format_tick(value: float) -> str:
    """A number as an axis shows it: 0, 2.5e-6, 0.25, 1.5, 250, 12k."""
    size = abs(value)
    if size >= 10_000:
        return f"{value / 1000:.4g}k"
    if 0 < size < 0.01:
        digits, exponent = f"{value:.1e}".split("e")
        return f"{digits.removesuffix('.0')}e{int(exponent)}"
    return f"{value:.3g}" if size < 1000 else f"{value:.0f}"


@dataclass(frozen=True)
class _Frame:
    """Maps data to the picture."""

    x0: float
    x1: float
    y0: float
    y1: float

    def x(self, value: float) -> float:
        return LEFT + (value - self.x0) / (self.x1 - self.x0) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (value - self.y0) / (self.y1 - self.y0) * (HEIGHT - TOP - BOTTOM)


def _axes(frame: _Frame, ticks: Sequence[float]) -> Markup:
    parts = []
    for tick in ticks:
        y = frame.y(tick)
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(text(LEFT - 6, y + 4, format_tick(tick), class_="tick", text_anchor="end"))
    middle = round((frame.x0 + frame.x1) / 2)
    for step, anchor in ((frame.x0, "start"), (middle, "middle"), (frame.x1, "end")):
        parts.append(text(frame.x(step), HEIGHT - BOTTOM + 15, format_tick(step),
                          class_="tick", text_anchor=anchor))  # fmt: skip
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, "step of the stage",
                      class_="tick", text_anchor="middle"))  # fmt: skip
    return tag("g", *parts)


def _line(frame: _Frame, points: Sequence[Point], class_: str) -> Markup:
    """A path with a gap wherever a value is missing; a lone point shows as a dot."""
    path, pen_down = [], False
    for x, y in points:
        if y is None:
            pen_down = False
            continue
        path.append(f"{'L' if pen_down else 'M'}{frame.x(x):.1f} {frame.y(y):.1f}")
        if not pen_down:
            path.append("h0")
        pen_down = True
    return tag("path", d="".join(path), class_=class_)


def _end_mark(frame: _Frame, points: Sequence[Point]) -> list[Markup]:
    known = [(x, y) for x, y in points if y is not None]
    return [tag("circle", cx=frame.x(x), cy=frame.y(y), r=3.5, class_="end") for x, y in known[-1:]]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return math.fsum(known) / len(known) if known else None


_MOVES_LEFT, _MOVES_RIGHT = 78, 112


def _moves_x(share: float) -> float:
    return _MOVES_LEFT + share * (WIDTH - _MOVES_LEFT - _MOVES_RIGHT)


def _scale(height: int) -> Markup:
    parts = []
    for share in (0.0, 0.5, 1.0):
        x = _moves_x(share)
        parts.append(tag("line", x1=x, x2=x, y1=4, y2=height - 16, class_="grid"))
        label = f"{100 * share:.0f}{' %' if share == 1 else ''}"
        parts.append(text(x, height - 3, label, class_="tick", text_anchor="middle"))
    return tag("g", *parts)


def _move(domain: str, cell: Cell, before: Cell, y: float) -> Markup:
    bold = " own" if cell.trained else ""
    parts = [text(0, y + 4, shorten(domain, 11), class_=f"label{bold}")]
    if cell.score is not None:
        end = _moves_x(cell.share)
        if cell.change is not None:
            start = _moves_x(before.share)
            parts.append(tag("line", x1=start, x2=end, y1=y, y2=y, class_="move"))
            parts.append(tag("circle", cx=start, cy=y, r=3.5, class_="from"))
        parts.append(tag("circle", cx=end, cy=y, r=4.5, class_="to"))
    way = "" if not cell.change else " up" if cell.change > 0 else " down"
    parts.append(text(WIDTH - 62, y + 4, cell.score_text, class_=f"label{bold}", text_anchor="end"))
    parts.append(text(WIDTH, y + 4, cell.change_label, class_=f"label{bold}{way}",
                      text_anchor="end"))  # fmt: skip
    return tag("g", *parts)
