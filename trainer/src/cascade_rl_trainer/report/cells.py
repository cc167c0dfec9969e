"""The matrix as cells that know what to say about themselves; every rendering starts here."""

from __future__ import annotations

from dataclasses import dataclass

from cascade_rl_trainer.report.matrix import Matrix, column, is_accuracy


@dataclass(frozen=True)
class Cell:
    """One stage and domain. ``change`` is against the row above; ``share`` 0..1 is its colour."""

    score: float | None
    stderr: float | None
    greedy: float | None
    change: float | None
    trained: bool
    best: bool
    accuracy: bool
    share: float
    unscored: int

    @property
    def score_text(self) -> str:
        """The sampled score: in percent for an accuracy, "-" where nothing was scored."""
        return format_value(self.score, self.accuracy)

    @property
    def greedy_text(self) -> str:
        """The greedy score, written like the sampled one."""
        return format_value(self.greedy, self.accuracy)

    @property
    def stderr_text(self) -> str:
        """The standard error ("" where there is none)."""
        return "" if self.stderr is None else f"±{format_value(self.stderr, self.accuracy)}"

    @property
    def change_text(self) -> str:
        """The change with its sign, in percentage points for an accuracy ("" without one)."""
        if self.change is None:
            return ""
        text = f"{self.change * 100:+.1f}" if self.accuracy else f"{self.change:+.3g}"
        return text.replace("-0.0", "+0.0") if float(text) == 0 else text

    @property
    def change_label(self) -> str:
        """The change behind an arrow, so that its sign is seen without colour."""
        if self.change is None:
            return ""
        shown = float(self.change_text)
        arrow = "=" if shown == 0 else "▲" if shown > 0 else "▼"
        return f"{arrow} {self.change_text}"


def cells(matrix: Matrix) -> list[list[Cell]]:
    """The cells by [stage][domain]."""
    columns = [_column_cells(matrix, i) for i in range(len(matrix.domains))]
    return [[cells_of[row] for cells_of in columns] for row in range(len(matrix.stages))]


def column_titles(matrix: Matrix) -> list[str]:
    """The domains' names; one whose scores are no accuracy says so."""
    return [d if is_accuracy(matrix, d) else f"{d} (mean score)" for d in matrix.domains]


def format_value(value: float | None, accuracy: bool) -> str:
    """A score as people read it; the unit, percent, is left to the table's title."""
    if value is None:
        return "-"
    return f"{value * 100:.1f}" if accuracy else f"{value:.3g}"


def _column_cells(matrix: Matrix, index: int) -> list[Cell]:
    domain = matrix.domains[index]
    scores = column(matrix.scores, index)
    accuracy = is_accuracy(matrix, domain)
    scored = [s for s in scores if s is not None]
    low, high = (0.0, 1.0) if accuracy or not scored else (min(scored), max(scored))
    made = []
    for row, score in enumerate(scores):
        above = scores[row - 1] if row else None
        made.append(
            Cell(
                score=score,
                stderr=matrix.stderr[row][index],
                greedy=matrix.greedy[row][index],
                change=None if score is None or above is None else score - above,
                trained=domain in matrix.trained[row],
                best=len(scored) > 1 and score == max(scored),
                accuracy=accuracy,
                share=0.0 if score is None or high == low else (score - low) / (high - low),
                unscored=matrix.unscored[row][index],
            )
        )
    return made
