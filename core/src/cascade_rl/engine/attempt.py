"""What travels between the engine's layers: a sample being scored, and how one try ended.

The layers, outermost first: ``RewardEngine`` (order, back-pressure), ``VerdictCache``
(nothing twice), ``Judge`` (a second try, blame, quarantine), and an executor (one try).
All hand results on by calling ``then``, from any thread; ``then`` must not block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cascade_rl.engine.item import Item, encode_item
from cascade_rl.types import Reward


class Task:
    """A sample on its way. Encoded at most once; ``started`` is when its first try began."""

    __slots__ = ("_line", "item", "started")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.started: float | None = None
        self._line: bytes | None = None

    @property
    def line(self) -> bytes:
        """The item as one line of ASCII JSON. Raises ``ValueError`` where that is impossible."""
        if self._line is None:
            self._line = encode_item(self.item)
        return self._line


@dataclass(slots=True)
class Attempt:
    """The end of one try.

    ``lost``: the worker died or had to be killed over it. ``outside``: by somebody else's hand.
    ``final``: no use in trying again.
    ``storable``: the pack said so itself, with the source that the cache knows it by.
    ``retry_after_s`` is set (0 or more) where the pack raised ``TransientError``.
    """

    reward: Reward
    lost: bool = False
    outside: bool = False
    final: bool = False
    storable: bool = True
    retry_after_s: float | None = None

    @property
    def failed(self) -> bool:
        """Whether it ended in a fault, not in the pack's word."""
        return self.reward.status in ("timeout", "error")


Then = Callable[[Attempt], None]


class Scorer(Protocol):
    """Takes samples and gives each one its final verdict."""

    def start(self, task: Task, then: Then) -> None:
        """Start one sample; ``then`` is called exactly once."""

    def close(self) -> None:
        """Stop; whatever is unanswered is answered as status "error"."""


class Executor(Protocol):
    """Makes one try at a sample, transient faults aside, which it tries again itself."""

    def attempt(
        self,
        task: Task,
        then: Then,
        *,
        alone: bool = False,
        fresh: bool = False,
        gold: bool = False,
    ) -> None:
        """Start one try; ``then`` is called exactly once.

        ``alone``: no other sample runs on the same worker meanwhile. ``fresh``: on a worker
        that has judged nothing before. ``gold``: judge the pack's gold completion for the
        prompt instead (status "abstained" where it has none).
        """

    def close(self) -> None:
        """Stop; whatever is unanswered is answered as status "error"."""


def closed(reason: str = "the engine is closed") -> Attempt:
    """The answer to what came too late."""
    return Attempt(Reward.unscored("error", reason), final=True, storable=False)
