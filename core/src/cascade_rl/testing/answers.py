"""What came back for one completion: a reward, or one of the ways in which there is none."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from cascade_rl.types import Record, Reward

#: raised: an exception. odd: not a reward and not a finite number. timeout, memory: killed at
#: the limit. died: the process ended. given_up: not asked, after too many kills.
AnswerKind = Literal["reward", "raised", "odd", "timeout", "memory", "died", "given_up"]


class Answer(Record):
    """The pack's raw word on one completion, before any engine has retried or blamed."""

    kind: AnswerKind
    reward: Reward | None = None
    text: str = ""
    ms: float = 0.0
    grown_mb: float = 0.0
    signals: tuple[str, ...] = Field(default=(), description="Calls into `signal`, with the place.")

    @property
    def score(self) -> float | None:
        """The score, where there is one."""
        return self.reward.score if self.reward else None

    @property
    def scored(self) -> bool:
        """Whether the pack gave a score."""
        return self.score is not None

    @property
    def is_fault(self) -> bool:
        """Whether the pack failed, in one of the ways that checks of their own report."""
        return self.reward is None or self.reward.status in ("error", "timeout")

    def verdict(self) -> dict[str, Any]:
        """What must be the same however often and wherever the completion is judged."""
        if self.reward is None:
            return {"kind": self.kind, "text": self.text}
        return self.reward.model_dump(include={"score", "correct", "status", "components"})

    def describe(self) -> str:
        """For messages."""
        if self.reward is None:
            return self.text or self.kind
        given = self.reward
        if given.score is None:
            return f"status {given.status!r}: {given.reason}"
        text = f"score {given.score:g}"
        if given.correct is not None:
            text += f", correct={given.correct}"
        return f"{text} ({given.reason})" if given.reason else text
