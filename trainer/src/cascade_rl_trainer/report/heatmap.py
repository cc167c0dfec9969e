"""The forgetting matrix as a picture: one SVG that works alone (README) and inside a page.

Colour is only the background of a number: the accent colour, more opaque the higher the
score. So one picture serves light and dark pages, and the text stays readable on every cell.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from cascade_rl_trainer.report.cells import Cell, cells, column_titles
from cascade_rl_trainer.report.matrix import Matrix, is_accuracy
from cascade_rl_trainer.report.svg import shorten, tag, text
from cascade_rl_trainer.report.text import subject, title

CELL_HEIGHT, GAP = 92, 6
HEAD, LABEL_LENGTH = 96, 18

#: (page, ink, accent, outline) of each scheme.
LIGHT = ("#ffffff", "#10151c", "#0b55b8", "#b3480a")
DARK = ("#12161c", "#f4f7fb", "#5b9dff", "#ffb066")
#: Opacity of the lowest and of the highest score; a test holds the text's contrast above 4.5.
OPACITY = (0.04, 0.62)

_RULES = """
.cm{font-family:system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:var(--cm-ink)}
.cm-head{font-size:15px;font-weight:600;text-anchor:middle}
.cm-small{font-size:12.5px;text-anchor:middle}
.cm-page{fill:var(--cm-page)}.cm-fill{fill:var(--cm-accent)}
.cm-frame{fill:none;stroke:var(--cm-line);stroke-opacity:.25}
.cm-own{fill:none;stroke:var(--cm-outline);stroke-width:3}
"""


def matrix_svg(matrix: Matrix) -> str:
    """The matrix as a self-contained SVG document, for light and dark pages alike."""
    heading = text(12, 26, "Forgetting matrix", font_size=17, font_weight=700)
    return str(_picture(matrix, heading, "http://www.w3.org/2000/svg"))


def inline_svg(matrix: Matrix) -> Markup:
    """The same picture for use inside an HTML page, below a heading of the page."""
    return _picture(matrix, Markup(), None)


def _picture(matrix: Matrix, heading: Markup, xmlns: str | None) -> Markup:
    rows, columns = len(matrix.stages), len(matrix.domains)
    top = 0 if heading else 26  # the part of the picture that stays out of view
    left = 24 + 9 * min(LABEL_LENGTH, max(11, *(len(s) for s in (*matrix.stages, ""))))
    cell_width = min(260, max(150, (900 - left) // max(columns, 1) - GAP))
    width = max(left + columns * (cell_width + GAP), 640) + 6
    bottom = HEAD + rows * (CELL_HEIGHT + GAP)
    notes = _notes(matrix)
    height = bottom + 40 + 17 * len(notes)
    return tag(
        "svg",
        tag("title", title(matrix)),
        tag("desc", _description(matrix)),
        tag("style", Markup(_style())),  # noqa: S704  our own constants
        tag("rect", width=width, height=height, class_="cm-page", rx=8),
        heading,
        _names(matrix, left, cell_width),
        *(
            _cell(cell, left + c * (cell_width + GAP), HEAD + r * (CELL_HEIGHT + GAP), cell_width)
            for r, row in enumerate(cells(matrix))
            for c, cell in enumerate(row)
        ),
        _legend(bottom + 14, left, notes),
        xmlns=xmlns,
        viewBox=f"0 {top} {width} {height - top}",
        width=width,
        height=height - top,
        role="img",
        class_="cm",
    )


def cell_opacity(share: float) -> float:
    """How opaque the accent colour is for a score that lies at ``share`` (0 to 1) of its scale."""
    return OPACITY[0] + (OPACITY[1] - OPACITY[0]) * share


def _style() -> str:
    def variables(page: str, ink: str, accent: str, outline: str) -> str:
        return (
            f".cm{{--cm-page:{page};--cm-ink:{ink};"
            f"--cm-accent:{accent};--cm-line:{ink};--cm-outline:{outline}}}"
        )

    dark = f"@media (prefers-color-scheme:dark){{{variables(*DARK)}}}"
    return f"{variables(*LIGHT)}{dark}{_RULES}"


def _names(matrix: Matrix, left: int, cell_width: int) -> Markup:
    parts = [
        text(12, 47, subject(matrix), font_size=13, opacity=0.8),
        text(12, HEAD - 12, "after stage", font_size=13, opacity=0.75),
    ]
    for c, name in enumerate(column_titles(matrix)):
        x = left + c * (cell_width + GAP) + cell_width / 2
        label = shorten(name, LABEL_LENGTH)
        parts.append(text(x, HEAD - 12, label, class_="cm-head"))
    for r, name in enumerate(matrix.stages):
        y = HEAD + r * (CELL_HEIGHT + GAP) + CELL_HEIGHT / 2 + 5
        parts.append(text(12, y, shorten(name, LABEL_LENGTH), font_size=15, font_weight=600))
    return tag("g", *parts)


def _cell(cell: Cell, x: float, y: float, width: int) -> Markup:
    size = {"x": x, "y": y, "width": width, "height": CELL_HEIGHT, "rx": 7}
    opacity = 0.0 if cell.score is None else cell_opacity(cell.share)
    middle = x + width / 2
    unit = " %" if cell.accuracy and cell.score is not None else ""
    score = tag(
        "text",
        tag("tspan", f"{cell.score_text}{unit}", font_size=22, font_weight=700),
        tag("tspan", f" {cell.stderr_text}", font_size=12),
        x=middle, y=y + 42, text_anchor="middle",
    )  # fmt: skip
    writing = [
        text(x + 9, y + 16, "★ best" if cell.best else "", font_size=11),
        text(x + width - 9, y + 16, "trained" if cell.trained else "",
             font_size=11, text_anchor="end", font_weight=600),
        score,
        text(middle, y + 62, cell.change_label, class_="cm-small"),
        text(middle, y + 80, _last_line(cell), class_="cm-small"),
    ]  # fmt: skip
    return tag(
        "g",
        tag("rect", **size, class_="cm-fill", fill_opacity=opacity),
        tag("rect", **size, class_="cm-own" if cell.trained else "cm-frame"),
        *writing,
    )


def _last_line(cell: Cell) -> str:
    parts = [f"greedy {cell.greedy_text}"] if cell.greedy is not None else []
    parts += [f"{cell.unscored} not scored"] if cell.unscored else []
    return " · ".join(parts)


def _legend(y: float, left: int, notes: Sequence[str]) -> Markup:
    steps = 20
    bar = [
        tag("rect", x=left + i * 10, y=y, width=10, height=12, class_="cm-fill",
            fill_opacity=cell_opacity((i + 0.5) / steps))
        for i in range(steps)
    ]  # fmt: skip
    end = left + steps * 10
    return tag(
        "g",
        *bar,
        text(left - 8, y + 11, "0 %", font_size=12, text_anchor="end"),
        text(end + 8, y + 11, "100 %", font_size=12),
        *(text(12, y + 32 + 17 * i, note, font_size=12) for i, note in enumerate(notes)),
    )


def _notes(matrix: Matrix) -> list[str]:
    notes = [
        "▲ ▼ change against the row above, in points · ★ best of its column",
        "outlined, “trained”: trained on in this stage · ± standard error, clustered by prompt",
    ]
    if not all(is_accuracy(matrix, domain) for domain in matrix.domains):
        notes.append("(mean score): no accuracy; coloured from its lowest to its highest value")
    return notes


def _description(matrix: Matrix) -> str:
    """The whole content in words, for those who cannot see the picture."""
    lines = []
    for stage, row in zip(matrix.stages, cells(matrix), strict=True):
        said = (
            f"{domain} {cell.score_text}" + (f" ({cell.change_text})" if cell.change_text else "")
            for domain, cell in zip(matrix.domains, row, strict=True)
        )
        lines.append(f"{stage}: {', '.join(said)}")
    return "; ".join(lines)
