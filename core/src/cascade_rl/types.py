"""The data that crosses every border: Python, YAML, HTTP and disk share these classes.

Nothing here behaves: no loading, no scoring, no I/O. All models are frozen and refuse
unknown fields, so that a typo in a record is an error and not a silently ignored key.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

Mode = Literal["think", "no_think", "none"]
FinishReason = Literal["stop", "length"]
Overlong = Literal["mask", "zero", "keep"]
Status = Literal["scored", "abstained", "bad_prompt", "timeout", "error"]
Split = Literal["train", "eval"]
StageKind = Literal["sft", "grpo"]

END_OF_THOUGHTS = "</think>"
START_OF_THOUGHTS = "<think>"


class Record(BaseModel):
    """Base of every type: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(Record):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


class Prompt(Record):
    """What the policy is asked, and what the verifier needs to judge the reply.

    ``id`` must be the same in every run: train/eval splits, resuming and the epoch filter
    rest on it. ``ground_truth`` is plain JSON whose meaning only the domain knows.
    """

    id: str
    messages: tuple[Message, ...]
    ground_truth: JsonValue = None
    mode: Mode = "none"
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    @classmethod
    def from_text(cls, id: str, text: str, **fields: Any) -> Self:
        """A prompt of one user turn."""
        return cls(id=id, messages=(Message(role="user", content=text),), **fields)

    @property
    def text(self) -> str:
        """The last user turn ("" when there is none)."""
        return next((m.content for m in reversed(self.messages) if m.role == "user"), "")


class Demonstration(Prompt):
    """A prompt with a reply to imitate: the training data of an SFT stage."""

    completion: str


class Completion(Record):
    """What the policy wrote. ``tokens`` is its length in tokens where that is known."""

    text: str
    finish_reason: FinishReason = "stop"
    tokens: int | None = Field(default=None, ge=0)

    @property
    def thoughts(self) -> str | None:
        """The text before the first ``</think>``; None when the thoughts were never closed."""
        head, end, _ = self.text.partition(END_OF_THOUGHTS)
        return head.strip().removeprefix(START_OF_THOUGHTS).strip() if end else None

    @property
    def answer(self) -> str:
        """The text after the first ``</think>``, or all of it when there is none.

        A domain that demands closed thoughts in think mode tests ``thoughts is None`` first.
        """
        _, end, tail = self.text.partition(END_OF_THOUGHTS)
        return tail.strip() if end else self.text


class LengthBudget(Record):
    """How long a prompt and a completion may be, in tokens, and what an overlong one costs.

    ``mask``: a truncated completion takes no part in the loss, its divisor or the group's
    statistics. ``zero``: it is scored 0. ``keep``: it keeps the score the domain gave it.
    """

    prompt_tokens: int = Field(gt=0)
    completion_tokens: int = Field(gt=0)
    overlong: Overlong = "keep"


class SamplingParams(Record):
    """How completions are drawn; ``n`` is the group size. ``top_k`` 0 means off."""

    temperature: float = Field(default=1.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=0, ge=0)
    n: int = Field(default=8, ge=1)


class Stage(Record):
    """The stage a hook is asked about."""

    name: str
    kind: StageKind
    index: int = Field(ge=0)
    options: dict[str, JsonValue] = Field(default_factory=dict)


class Reward(Record):
    """A verdict. ``score is None`` means *not scored*; nothing may ever turn it into 0.

    ``score`` is any finite real number (reward models are unbounded). ``correct`` is the
    unshaped verdict, which filters and the forgetting matrix use. ``status`` says why there
    is no score: ``abstained`` and ``bad_prompt`` are the domain's word, ``timeout`` and
    ``error`` are faults of the pack or of the machine.
    """

    score: float | None
    correct: bool | None = None
    status: Status = "scored"
    truncated: bool = False
    components: dict[str, float | None] = Field(default_factory=dict)
    extracted: str | None = None
    reason: str = ""
    ms: float | None = None
    pack_version: str | None = None

    @model_validator(mode="after")
    def _score_and_status_agree(self) -> Self:
        if self.status == "scored":
            if self.score is None:
                raise ValueError("status 'scored' needs a score; say why there is none instead")
            if not math.isfinite(self.score):
                raise ValueError(f"score must be finite, got {self.score}")
        elif self.score is not None:
            raise ValueError(f"status {self.status!r} means not scored, got score {self.score}")
        elif self.correct is not None:
            raise ValueError(f"status {self.status!r} means not scored, got correct={self.correct}")
        for name, value in self.components.items():
            if value is not None and not math.isfinite(value):
                raise ValueError(f"component {name!r} must be finite, got {value}")
        return self

    @classmethod
    def unscored(cls, status: Status, reason: str, **fields: Any) -> Self:
        """A reward without a score; ``status`` is any but ``scored``."""
        return cls(score=None, status=status, reason=reason, **fields)

    @classmethod
    def verdict(cls, correct: bool, reason: str = "", **fields: Any) -> Self:
        """1 for right, 0 for wrong."""
        return cls(score=float(correct), correct=correct, reason=reason, **fields)


class Sample(Record):
    """One scored completion, as ``shape_rewards`` sees a batch."""

    prompt: Prompt
    completion: Completion
    reward: Reward


class Example(Record):
    """A completion with the reward it must get: what tests and conformance checks run.

    ``expected`` None means that the pack must not score it.
    """

    name: str
    kind: Literal["right", "wrong", "hostile"]
    prompt: Prompt
    completion: Completion
    expected: float | None
