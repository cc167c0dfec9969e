"""What rescoring changed, counted: verdicts, ranks, groups without variance, advantages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import groupby

from cascade_rl.replay.advantages import ranks
from cascade_rl.replay.rescore import Judged
from cascade_rl.types import Record

SHOWN = 10


class Flip(Record):
    """One sample whose verdict changed."""

    id: str
    before: str
    after: str
    reason: str


class Comparison(Record):
    """Old and new over one stage. Groups are the samples of one prompt in one step."""

    stage: str
    samples: int
    groups: int
    mean_before: float | None
    mean_after: float | None
    unscored_before: int
    unscored_after: int
    flips: dict[str, int]
    first_flips: tuple[Flip, ...]
    groups_reranked: int
    groups_lost_variance: int
    groups_gained_variance: int
    signs_changed: int
    mean_shift: float
    largest_shift: float

    def text(self) -> str:
        """The comparison as lines for a terminal."""
        flips = ", ".join(f"{n} {kind}" for kind, n in self.flips.items()) or "none"
        lines = [
            f"stage {self.stage}: {self.samples:,} samples in {self.groups:,} groups",
            f"  mean reward            {_number(self.mean_before)} -> {_number(self.mean_after)}",
            f"  unscored               {self.unscored_before} -> {self.unscored_after}",
            f"  flipped verdicts       {flips}",
            f"  groups in other ranks  {self.groups_reranked}",
            (
                f"  groups that lost all variance  {self.groups_lost_variance}, "
                f"gained some  {self.groups_gained_variance}"
            ),
            (
                f"  advantages             moved by {self.mean_shift:.4f} on average, "
                f"{self.largest_shift:.4f} at most; {self.signs_changed} changed sign"
            ),
        ]
        for flip in self.first_flips:
            lines.append(f"    {flip.before} -> {flip.after}  {flip.id}  {flip.reason}")
        if sum(self.flips.values()) > len(self.first_flips):
            lines.append(f"    and {sum(self.flips.values()) - len(self.first_flips)} more")
        return "\n".join(lines)


def compare(stage: str, judged: Iterable[Judged]) -> Comparison:
    """Count over the samples of one stage, which come in the order of the log."""
    tally = _Tally()
    for _, group in groupby(judged, key=lambda j: j.rollout.group):
        tally.add(list(group))
    return tally.comparison(stage)


class _Tally:
    def __init__(self) -> None:
        self.samples = self.groups = self.reranked = self.lost = self.gained = self.signs = 0
        self.old: list[float] = []
        self.new: list[float] = []
        self.flips: dict[str, int] = {}
        self.first: list[Flip] = []
        self.shift = self.largest = 0.0

    def add(self, group: list[Judged]) -> None:
        self.groups += 1
        self.samples += len(group)
        before = [j.rollout.reward for j in group]
        after = [j.reward.score for j in group]
        self.old += [s for s in before if s is not None]
        self.new += [s for s in after if s is not None]
        self.reranked += ranks(before) != ranks(after)
        varied = any(j.rollout.advantage for j in group), any(j.advantage for j in group)
        self.lost += varied == (True, False)
        self.gained += varied == (False, True)
        for judged in group:
            self._shifted(judged.rollout.advantage, judged.advantage)
            for flip in _flip(judged):
                kind = f"{flip.before} to {flip.after}"
                self.flips[kind] = self.flips.get(kind, 0) + 1
                if len(self.first) < SHOWN:
                    self.first.append(flip)

    def comparison(self, stage: str) -> Comparison:
        return Comparison(
            stage=stage,
            samples=self.samples,
            groups=self.groups,
            mean_before=_mean(self.old),
            mean_after=_mean(self.new),
            unscored_before=self.samples - len(self.old),
            unscored_after=self.samples - len(self.new),
            flips=dict(sorted(self.flips.items())),
            first_flips=tuple(self.first),
            groups_reranked=self.reranked,
            groups_lost_variance=self.lost,
            groups_gained_variance=self.gained,
            signs_changed=self.signs,
            mean_shift=self.shift / max(1, self.samples),
            largest_shift=self.largest,
        )

    def _shifted(self, before: float, after: float) -> None:
        moved = abs(after - before)
        self.shift += moved
        self.largest = max(self.largest, moved)
        self.signs += before * after < 0


def _flip(judged: Judged) -> Iterator[Flip]:
    old, new = judged.rollout, judged.reward
    before, after = _word(old.reward, old.correct), _word(new.score, new.correct)
    if before != after:
        yield Flip(id=old.id, before=before, after=after, reason=new.reason)


def _word(score: float | None, correct: bool | None) -> str:
    if score is None:
        return "unscored"
    return "scored" if correct is None else ("right" if correct else "wrong")


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
