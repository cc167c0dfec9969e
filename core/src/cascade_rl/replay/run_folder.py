"""A finished or unfinished run on disk: its GRPO stages, and the rollouts that it logged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, JsonValue, ValidationError

from cascade_rl.config.schema import RewardTerm
from cascade_rl.errors import DataError
from cascade_rl.types import (
    Completion,
    FinishReason,
    LengthBudget,
    Mode,
    Prompt,
    Record,
    Reward,
    Status,
)


class Rollout(Record):
    """One line of ``rollouts.jsonl``. ``id`` names it within its run. Later fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    stage: str
    step: int
    sample: int
    advantage: float
    prompt_id: str
    prompt: str
    mode: Mode = "none"
    ground_truth: JsonValue = None
    completion: str
    finish_reason: FinishReason = "stop"
    tokens: int | None = None
    reward: float | None
    correct: bool | None = None
    status: Status = "scored"
    reason: str = ""
    truncated: bool = False
    components: dict[str, float | None] = Field(default_factory=dict)
    ms: float | None = None

    @property
    def id(self) -> str:
        """stage:step:prompt:sample, which is what ``cascade why`` takes."""
        return f"{self.stage}:{self.step}:{self.prompt_id}:{self.sample}"

    @property
    def group(self) -> tuple[str, int, str]:
        """What the samples of one group share."""
        return self.stage, self.step, self.prompt_id

    def to_prompt(self, known: Mapping[str, Prompt]) -> Prompt:
        """The prompt as the pack has it; where it has none that fits, what the log tells."""
        prompt = known.get(self.prompt_id)
        if prompt and prompt.ground_truth == self.ground_truth and prompt.text == self.prompt:
            return prompt.model_copy(update={"mode": self.mode})
        return Prompt.from_text(
            self.prompt_id, self.prompt, ground_truth=self.ground_truth, mode=self.mode
        )

    def to_completion(self) -> Completion:
        """The completion as it was judged."""
        return Completion(
            text=self.completion, finish_reason=self.finish_reason, tokens=self.tokens
        )

    def to_reward(self) -> Reward:
        """The reward as it was stored."""
        return Reward(
            score=self.reward,
            correct=self.correct,
            status=self.status,
            truncated=self.truncated,
            components=self.components,
            reason=self.reason,
            ms=self.ms,
        )


@dataclass(frozen=True)
class StageRecord:
    """One GRPO stage of a run, with the values that it was trained with."""

    name: str
    domain: str
    options: dict[str, Any]
    budget: LengthBudget
    rewards: tuple[RewardTerm, ...]
    masked_in_group: bool
    file: Path

    def rollouts(self) -> Iterator[Rollout]:
        """The stage's samples in the order of the log. Raises ``DataError``."""
        if not self.file.exists():
            return
        with self.file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield Rollout(stage=self.name, **json.loads(line))
                except (ValidationError, TypeError, ValueError) as error:
                    text = " ".join(str(error).split())
                    raise DataError(f"{self.file}:{number}: not a rollout: {text:.300}") from error


def read_stages(run: Path, domain: str | None = None) -> list[StageRecord]:
    """The GRPO stages of a run, of one domain if asked.

    Raises ``DataError`` where the folder is no run, or has no such stage.
    """
    file = run / "run.json"
    try:
        cascade = json.loads(file.read_text())["fingerprint"]["cascade"]
        stages = [_stage(run, s) for s in cascade["stages"] if s["kind"] == "grpo"]
    except OSError as error:
        raise DataError(
            f"{run} is no run folder: it has no readable run.json; `cascade run` writes one, "
            "by default in runs/NAME"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        kind = type(error).__name__
        raise DataError(f"{file} cannot be read as a run ({kind}: {error})") from error
    found = [s for s in stages if domain in (None, s.domain)]
    if not found:
        had = ", ".join(sorted({s.domain for s in stages})) or "none"
        raise DataError(f"{run} has no RL stage of domain {domain!r}; it has stages of: {had}")
    return found


def _stage(run: Path, stage: dict[str, Any]) -> StageRecord:
    resolved = stage["resolved"][stage["domain"]]
    return StageRecord(
        name=stage["name"],
        domain=stage["domain"],
        options=resolved["options"],
        budget=LengthBudget.model_validate(resolved["budget"]),
        rewards=tuple(RewardTerm.model_validate(t) for t in stage["rewards"] or ()),
        masked_in_group=stage["masked_in_group"],
        file=run / "stages" / stage["name"] / "rollouts.jsonl",
    )
