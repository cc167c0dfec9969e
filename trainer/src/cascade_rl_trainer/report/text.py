"""The forgetting matrix for a terminal, for a log file and for a Markdown page."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from cascade_rl_trainer.report.cells import Cell, cells, column_titles
from cascade_rl_trainer.report.matrix import Matrix

_LEGEND = "* trained on in this stage   ^ best of its column"


def to_text(matrix: Matrix) -> str:
    """A plain table, ASCII but for the names, which reads the same in any log."""
    body = [
        [stage, *(_plain(cell) for cell in row)]
        for stage, row in zip(matrix.stages, cells(matrix), strict=True)
    ]
    table = [["after stage", *column_titles(matrix)], *body]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = [
        "   ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    lines.insert(1, "-" * max(len(line) for line in lines))
    notes = [_LEGEND, *unscored_notes(matrix)]
    return "\n".join([title(matrix), *lines, *notes]) + "\n"


def to_markdown(matrix: Matrix) -> str:
    """A table for GitHub; the best of a column is bold."""
    head = ["after stage", *(_escape(d) for d in column_titles(matrix))]
    rows = [head, ["---", *("---:" for _ in matrix.domains)]]
    for stage, row in zip(matrix.stages, cells(matrix), strict=True):
        rows.append([_escape(stage), *(_markdown(cell) for cell in row)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    legend = "In brackets the change against the row above; \\* trained on in this stage; "
    notes = "".join(f"\n{_escape(note)}\n" for note in unscored_notes(matrix))
    return f"{title(matrix)}\n\n{table}\n\n{legend}**bold**: best of its column.\n{notes}"


def to_rich(matrix: Matrix) -> Table:
    """A table for ``rich``'s console: gains green, losses red, and the same marks as in text."""
    notes = "\n".join([_LEGEND, *unscored_notes(matrix)])
    table = Table(title=Text(title(matrix)), caption=Text(notes), title_justify="left")
    table.add_column("after stage", style="bold")
    for domain in column_titles(matrix):
        table.add_column(Text(domain), justify="left")
    for stage, row in zip(matrix.stages, cells(matrix), strict=True):
        table.add_row(Text(stage), *(_rich(cell) for cell in row))
    return table


def title(matrix: Matrix) -> str:
    """The table's title."""
    return f"Forgetting matrix: {subject(matrix)}"


def subject(matrix: Matrix) -> str:
    """What the numbers are, with their units."""
    counts = sorted({n for n in matrix.n if n})
    prompts = (
        "no" if not counts else "-".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    )
    samples = f"{matrix.samples} sample{'s' if matrix.samples != 1 else ''}"
    return f"accuracy in % on {prompts} held-out prompts a domain, {samples} each"


def unscored_notes(matrix: Matrix) -> list[str]:
    """One line that counts the samples without a score, if there are any."""
    counts = [
        f"{domain} ({stage}): {count}"
        for stage, row in zip(matrix.stages, matrix.unscored, strict=True)
        for domain, count in zip(matrix.domains, row, strict=True)
        if count
    ]
    return [f"samples that were not scored and do not count: {', '.join(counts)}"] if counts else []


def _marks(cell: Cell) -> str:
    return ("*" if cell.trained else "") + ("^" if cell.best else "")


def _plain(cell: Cell) -> str:
    change = f"({cell.change_text})" if cell.change_text else ""
    return f"{cell.score_text:>5} {change:<7} {_marks(cell)}".rstrip()


def _markdown(cell: Cell) -> str:
    score = f"**{cell.score_text}**" if cell.best else cell.score_text
    change = f" ({cell.change_text})" if cell.change_text else ""
    mark = " \\*" if cell.trained else ""
    return f"{score}{change}{mark}"


def _rich(cell: Cell) -> Text:
    text = Text(f"{cell.score_text:>5} ", style="bold" if cell.best else "")
    if cell.change_text:
        falls = cell.change is not None and cell.change < 0
        text.append(f"{cell.change_text:>6}", style="red" if falls else "green")
    return text.append(f" {_marks(cell)}", style="cyan")


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")
