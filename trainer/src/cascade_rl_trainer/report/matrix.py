"""The forgetting matrix: how well every domain does before and after every stage.

Pure data: rows are added from evaluation samples, rendering is done elsewhere. A cell where
nothing was scored is None, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from cascade_rl.errors import RunError
from cascade_rl.types import Mode, Record, Reward

BEFORE = "before"
Values = tuple[float | None, ...]


@dataclass(frozen=True)
class EvalSample:
    """One completion of a held-out prompt. ``value`` None: it could not be scored."""

    domain: str
    prompt: str
    value: float | None
    mode: Mode = "none"
    greedy: bool = False


class ModeScores(Record):
    """Sampled scores of the prompts of one mode; rows are the matrix's stages."""

    domains: tuple[str, ...]
    scores: tuple[Values, ...]


class Matrix(Record):
    """Scores by [stage][domain]: accuracy from 0 to 1 where the domain says what is correct.

    ``scores`` are means over the sampled completions, ``greedy`` over the greedy ones;
    ``stderr`` is the standard error of ``scores``, clustered by prompt; ``unscored`` counts
    samples without a score. ``n`` is prompts a domain, ``samples`` completions a prompt,
    ``trained`` the domains that each stage trained on.
    """

    stages: tuple[str, ...] = ()
    domains: tuple[str, ...]
    trained: tuple[tuple[str, ...], ...] = ()
    scores: tuple[Values, ...] = ()
    greedy: tuple[Values, ...] = ()
    stderr: tuple[Values, ...] = ()
    unscored: tuple[tuple[int, ...], ...] = ()
    n: tuple[int, ...]
    samples: int
    by_mode: dict[Mode, ModeScores] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _shapes_agree(self) -> Self:
        for name in ("trained", "scores", "greedy", "stderr", "unscored"):
            rows = getattr(self, name)
            if len(rows) != len(self.stages):
                raise ValueError(f"{name} has {len(rows)} rows for {len(self.stages)} stages")
            if name != "trained" and any(len(row) != len(self.domains) for row in rows):
                raise ValueError(f"{name} needs {len(self.domains)} values a row, one a domain")
        return self

    @classmethod
    def empty(cls, domains: Sequence[str], samples: int) -> Self:
        """A matrix without rows."""
        return cls(domains=tuple(domains), n=(0,) * len(domains), samples=samples)

    def with_row(self, stage: str, trained: Iterable[str], results: Iterable[EvalSample]) -> Self:
        """The matrix with a stage's evaluation as its last row.

        Raises ``RunError`` when a domain was evaluated on another number of prompts than
        before, for the rows would not compare; ``ValueError`` for a stage that is there.
        """
        if stage in self.stages:
            raise ValueError(f"the matrix already has a row {stage!r}")
        samples = list(results)
        sampled = [s for s in samples if not s.greedy]
        greedy = [s for s in samples if s.greedy]
        means, errors = self._means(sampled)
        row = {
            "stages": stage,
            "trained": tuple(trained),
            "scores": means,
            "stderr": errors,
            "greedy": self._means(greedy)[0],
            "unscored": tuple(sum(s.value is None for s in samples if s.domain == d)
                              for d in self.domains),
        }  # fmt: skip
        values = {name: (*getattr(self, name), value) for name, value in row.items()}
        n = self._prompt_counts(stage, samples)
        return type(self)(
            **values,
            domains=self.domains,
            samples=self.samples,
            n=n,
            by_mode=self._mode_rows(sampled),
        )

    def rows_before(self, stage: str) -> Self:
        """The matrix without ``stage`` and all rows after it (unchanged if it has no such row)."""
        if stage not in self.stages:
            return self
        end = self.stages.index(stage)
        rows = ("stages", "trained", "scores", "greedy", "stderr", "unscored")
        by_mode = {
            mode: scores.model_copy(update={"scores": scores.scores[:end]})
            for mode, scores in self.by_mode.items()
        }
        cut = {name: getattr(self, name)[:end] for name in rows}
        return self.model_copy(update={**cut, "by_mode": by_mode})

    def _means(self, samples: Sequence[EvalSample]) -> tuple[Values, Values]:
        columns = [clustered_mean(_by_prompt(samples, domain)) for domain in self.domains]
        return tuple(mean for mean, _ in columns), tuple(error for _, error in columns)

    def _prompt_counts(self, stage: str, samples: Sequence[EvalSample]) -> tuple[int, ...]:
        counts = [len({s.prompt for s in samples if s.domain == d}) for d in self.domains]
        for domain, before, now in zip(self.domains, self.n, counts, strict=True):
            if before and now and before != now:
                raise RunError(
                    f"{domain} was evaluated on {before} prompts before and on {now} after "
                    f"{stage!r}; the rows of the matrix must use the same prompts. Restore the "
                    "domain's data, or use another output folder."
                )
        return tuple(before or now for before, now in zip(self.n, counts, strict=True))

    def _mode_rows(self, samples: Sequence[EvalSample]) -> dict[Mode, ModeScores]:
        modes = {s.mode for s in samples} - {"none"}
        return {
            mode: self._mode_scores(mode, [s for s in samples if s.mode == mode])
            for mode in sorted(modes | set(self.by_mode))
        }

    def _mode_scores(self, mode: Mode, samples: Sequence[EvalSample]) -> ModeScores:
        """The mode's rows so far and the new one; only domains that have such prompts."""
        had = self.by_mode.get(mode, ModeScores(domains=(), scores=((),) * len(self.stages)))
        rows = [dict(zip(had.domains, row, strict=True)) for row in had.scores]
        rows.append(dict(zip(self.domains, self._means(samples)[0], strict=True)))
        asked = {s.domain for s in samples} | set(had.domains)
        domains = tuple(d for d in self.domains if d in asked)
        scores = tuple(tuple(row.get(d) for d in domains) for row in rows)
        return ModeScores(domains=domains, scores=scores)


def value_of(reward: Reward) -> float | None:
    """A reward's value in the matrix: whether it is correct, else its score; None if unscored."""
    return reward.score if reward.correct is None else float(reward.correct)


def clustered_mean(clusters: Iterable[Sequence[float]]) -> tuple[float | None, float | None]:
    """The mean over prompts of each prompt's mean, and its standard error.

    Samples of one prompt are not independent, so the error is that of the prompt means:
    sqrt(sum (m_i - m)^2 / (P (P - 1))) for P prompts with samples; None for fewer than two.
    """
    means = [math.fsum(values) / len(values) for values in clusters if values]
    count = len(means)
    if count == 0:
        return None, None
    mean = math.fsum(means) / count
    if count == 1:
        return mean, None
    squares = math.fsum((m - mean) ** 2 for m in means)
    return mean, math.sqrt(squares / (count * (count - 1)))


def load(path: Path) -> Matrix | None:
    """Read ``matrix.json``; None when there is none. Raises ``RunError`` when it is damaged."""
    if not path.exists():
        return None
    try:
        return Matrix.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise RunError(
            f"{path} is not a forgetting matrix of this version: {where}: {first['msg']}. "
            "Restore it from a copy, or use another output folder."
        ) from error


def _by_prompt(samples: Iterable[EvalSample], domain: str) -> Iterable[Sequence[float]]:
    prompts: dict[str, list[float]] = {}
    for sample in samples:
        if sample.domain == domain and sample.value is not None:
            prompts.setdefault(sample.prompt, []).append(sample.value)
    return prompts.values()


def column(rows: Sequence[Values], index: int) -> Values:
    """One domain's values, stage by stage."""
    return tuple(row[index] for row in rows)


def is_accuracy(matrix: Matrix, domain: str) -> bool:
    """Whether a domain's scores all lie in 0..1, so that they can be shown in percent."""
    index = matrix.domains.index(domain)
    found = [v for rows in (matrix.scores, matrix.greedy) for v in column(rows, index)]
    return all(v is None or 0 <= v <= 1 for v in found)
