"""Points of IOI-style subtasks, from the scores of their tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cascade_rl_code.truth import Scoring, Subtask
from cascade_rl_code.verdicts import SubtaskResult, TestResult


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores)


_SCORINGS: dict[Scoring, Callable[[Sequence[float]], float]] = {"min": min, "sum": _mean}


def score_subtasks(
    subtasks: Sequence[Subtask], results: Sequence[TestResult]
) -> tuple[SubtaskResult, ...]:
    """Points times the lowest (``min``) or the mean (``sum``) score of each subtask's tests."""
    scored = []
    for number, subtask in enumerate(subtasks, start=1):
        scores = [results[index].score for index in subtask.tests]
        points = subtask.points * _SCORINGS[subtask.scoring](scores)
        scored.append(SubtaskResult(subtask.id or str(number), points, subtask.points))
    return tuple(scored)
