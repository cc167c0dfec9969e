"""The verdict card: how often a pack errs on labelled completions, and how long it takes.

A card lies beside a pack's ``pyproject.toml`` as ``card.json`` and ``CARD.md``. A later card that
is worse is refused, so that CI notices a verifier that has lost something.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

from pydantic import Field, JsonValue, ValidationError

from cascade_rl.engine.records import ScoreRequest
from cascade_rl.errors import DataError, PackError
from cascade_rl.hooks import DOMAIN_GROUP, HOOK_VERSION
from cascade_rl.registry import Registry
from cascade_rl.testing.answers import Answer
from cascade_rl.testing.subject import Case, DomainSubject
from cascade_rl.types import Record

JSON_NAME, MARKDOWN_NAME = "card.json", "CARD.md"
#: A slower p99 (milliseconds) counts only beyond both: machines differ.
SLOWER_TIMES, SLOWER_MS = 10.0, 100.0


class Card(Record):
    """What a pack did on its labelled completions. Names are those of the completions."""

    domain: str
    distribution: str
    version: str
    hook_version: int = HOOK_VERSION
    options: dict[str, JsonValue] = Field(default_factory=dict)
    labelled: str | None = Field(default=None, description="Name of the file of more completions.")
    right: int
    wrong: int
    false_positives: tuple[str, ...]
    false_negatives: tuple[str, ...]
    unscored: tuple[str, ...]
    p50_ms: float
    p99_ms: float

    def markdown(self) -> str:
        """The card as a page."""
        rows = [
            ("right completions", self.right, "false negatives", self.false_negatives),
            ("wrong completions", self.wrong, "false positives", self.false_positives),
            ("all", self.right + self.wrong, "unscored", self.unscored),
        ]
        table = [f"| {n} {what} | {len(e)} {kind} |" for what, n, kind, e in rows]
        errors = [f"- {kind}: {name}" for _, _, kind, e in rows for name in e]
        return "\n".join(
            [
                f"# Verdict card of {self.domain}",
                "",
                (
                    f"{self.distribution} {self.version}, hook version {self.hook_version}, "
                    f"options `{json.dumps(self.options)}`. "
                    f"Written by `cascade check {self.domain} --card{self._more()}`."
                ),
                "",
                "| judged | errors |",
                "|---|---|",
                *table,
                "",
                f"Time for one completion: p50 {self.p50_ms:g} ms, p99 {self.p99_ms:g} ms.",
                *(["", "Errors:", "", *errors] if errors else []),
                "",
            ]
        )

    def _more(self) -> str:
        return f" --labelled {self.labelled}" if self.labelled else ""


def measure(
    name: str,
    options: Mapping[str, Any] | None = None,
    labelled: Path | None = None,
    **limits: float,
) -> Card:
    """Judge the pack's golds and examples, and the lines of ``labelled``, and count the errors.

    ``labelled``: a file as ``cascade score`` takes it, each line with a ``label`` (true: right).
    Raises ``PackError``, or ``DataError`` where nothing is labelled.
    """
    announcement = Registry().announcement(DOMAIN_GROUP, name)
    subject = DomainSubject(name, options, **limits)
    try:
        if "wrong" in subject.facts:
            raise PackError(subject.facts["text"])
        cases = _labelled(subject) + (_read(labelled) if labelled else [])
        if not cases:
            raise DataError(
                f"domain {name!r} labels nothing: add gold_completion or examples to the pack, or "
                "give a file with --labelled"
            )
        answers = [(case, subject.answer(case)) for case in cases]
    finally:
        subject.close()
    times = [answer.ms for _, answer in answers]
    cuts = quantiles(times, n=100, method="inclusive") if len(times) > 1 else times * 99
    return Card(
        domain=name,
        distribution=announcement.distribution,
        version=announcement.version,
        options=dict(options or {}),
        labelled=labelled.name if labelled else None,
        **_errors(answers),
        p50_ms=round(cuts[49], 2),
        p99_ms=round(cuts[98], 2),
    )


def worse(old: Card, new: Card) -> list[str]:
    """What the new card is worse at, one sentence each."""
    found = []
    pairs = (
        ("false positives", old.false_positives, old.wrong, new.false_positives, new.wrong),
        ("false negatives", old.false_negatives, old.right, new.false_negatives, new.right),
        ("unscored", old.unscored, old.right + old.wrong, new.unscored, new.right + new.wrong),
    )
    for kind, before, of_before, after, of_after in pairs:
        if len(after) * max(1, of_before) > len(before) * max(1, of_after):
            added = [name for name in after if name not in before]
            found.append(
                f"{kind}: {len(after)} of {of_after}, before {len(before)} of {of_before}"
                + (f"; new: {', '.join(added[:5])}" if added else "")
            )
    for kind, had, has in (("right", old.right, new.right), ("wrong", old.wrong, new.wrong)):
        if has < had:
            found.append(f"{has} {kind} completions are judged, before {had}")
    if new.p99_ms > SLOWER_TIMES * old.p99_ms and new.p99_ms > SLOWER_MS:
        found.append(f"p99: {new.p99_ms:g} ms, before {old.p99_ms:g} ms")
    return found


def read_card(folder: Path) -> Card | None:
    """The card in a folder; None where there is none. Raises ``DataError``."""
    path = folder / JSON_NAME
    if not path.exists():
        return None
    try:
        return Card.model_validate_json(path.read_text())
    except ValidationError as error:
        raise DataError(f"{path} is no verdict card: {error.errors()[0]['msg']}") from error


def write_card(folder: Path, card: Card) -> None:
    """Write both files, unless the verdicts are those of the card that is there."""
    old = read_card(folder)
    times = {"p50_ms", "p99_ms"}
    if old and old.model_dump(exclude=times) == card.model_dump(exclude=times):
        return
    (folder / JSON_NAME).write_text(card.model_dump_json(indent=2) + "\n")
    (folder / MARKDOWN_NAME).write_text(card.markdown())


def _labelled(subject: DomainSubject) -> list[Case]:
    """Golds and examples; a hostile example that gets something, or nothing sure, is left out."""
    golds = [case.model_copy(update={"expected": 1.0}) for case in subject.golds]
    examples = subject.example_cases
    hostile = [case for case in examples["hostile"] if case.expected is not None]
    wrong = [*examples["wrong"], *(case for case in hostile if (case.expected or 0.0) <= 0)]
    right = [case.model_copy(update={"expected": 1.0}) for case in examples["right"]]
    return [*golds, *right, *(case.model_copy(update={"expected": 0.0}) for case in wrong)]


def _read(path: Path) -> list[Case]:
    cases = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            data = json.loads(line)
            label = data.pop("label")
            request = ScoreRequest.model_validate(data)
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            text = " ".join(str(error).split())
            raise DataError(
                f"{path}:{number}: not a line of `cascade score` with a label: {text}"
            ) from error
        if not isinstance(label, bool):
            raise DataError(f"{path}:{number}: label is {label!r}; it must be true or false")
        item = request.to_item(str(number))
        expected, where = float(label), f"{path.name}:{number}"
        cases.append(
            Case(label=where, prompt=item.prompt, completion=item.completion, expected=expected)
        )
    return cases


def _errors(answers: Sequence[tuple[Case, Answer]]) -> dict[str, Any]:
    best = max((a.score for c, a in answers if c.expected and a.score is not None), default=None)
    named: dict[str, list[str]] = {"false_positives": [], "false_negatives": [], "unscored": []}
    for case, answer in answers:
        if not answer.scored:
            named["unscored"].append(case.label)
        elif bool(case.expected) != _passed(answer, best):
            named["false_negatives" if case.expected else "false_positives"].append(case.label)
    right = sum(bool(case.expected) for case, _ in answers)
    counts = {"right": right, "wrong": len(answers) - right}
    return {**counts, **{kind: tuple(names) for kind, names in named.items()}}


def _passed(answer: Answer, best: float | None) -> bool:
    if answer.reward is not None and answer.reward.correct is not None:
        return answer.reward.correct
    return best is not None and answer.score is not None and answer.score >= best
