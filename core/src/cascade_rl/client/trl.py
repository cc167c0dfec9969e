"""A reward function for TRL: ``GRPOTrainer(reward_funcs=RemoteReward(url, "math"), …)``.

Samples without a score are None, which TRL leaves out of the reward. Written against TRL 1.16;
TRL itself is not imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from cascade_rl.client.synchronous import RewardClient
from cascade_rl.engine import Item
from cascade_rl.types import Completion, Message, Mode, Prompt, Reward

Turn = dict[str, Any]


class RemoteReward:
    """An asynchronous reward function whose rewards come from a service.

    ``ground_truth`` names the dataset's column with the ground truth. ``name`` is what TRL's
    metrics call the function. Other keyword arguments are those of ``RewardClient``.
    """

    def __init__(
        self,
        url: str,
        domain: str,
        options: dict[str, Any] | None = None,
        *,
        ground_truth: str = "ground_truth",
        mode: Mode = "none",
        name: str | None = None,
        **settings: Any,
    ) -> None:
        self.__name__ = name or domain
        self._client = RewardClient(url, domain, options, **settings)
        self._ground_truth, self._mode = ground_truth, mode

    async def __call__(
        self,
        prompts: Sequence[str | list[Turn]],
        completions: Sequence[str | list[Turn]],
        *,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """One reward a completion; None where there is none.

        Raises ``ServiceRefused``, and ``KeyError`` where the dataset lacks the column.
        """
        truths = self._column(columns, len(completions))
        items = [
            Item(
                prompt=Prompt(
                    id=str(place), messages=_messages(prompt), ground_truth=truth, mode=self._mode
                ),
                completion=Completion(text=_text(completion)),
            )
            for place, (prompt, completion, truth) in enumerate(
                zip(prompts, completions, truths, strict=True)
            )
        ]
        rewards = await self._client.ascore(items)
        self._log(rewards, log_metric, log_extra)
        return [reward.score for reward in rewards]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _column(self, columns: dict[str, Any], count: int) -> Sequence[Any]:
        if self._ground_truth not in columns:
            known = ", ".join(sorted(k for k, v in columns.items() if isinstance(v, list)))
            raise KeyError(
                f"the dataset has no column {self._ground_truth!r} (columns: {known}); give its "
                "name: RemoteReward(…, ground_truth=…)"
            )
        values: Sequence[Any] = columns[self._ground_truth]
        if len(values) != count:
            raise ValueError(f"{count} completions came with {len(values)} ground truths")
        return values

    def _log(
        self,
        rewards: Sequence[Reward],
        log_metric: Callable[[str, float], None] | None,
        log_extra: Callable[[str, list[Any]], None] | None,
    ) -> None:
        if log_metric is not None and rewards:
            missed = Counter(r.status for r in rewards if r.score is None)
            log_metric(f"{self.__name__}/unscored", missed.total() / len(rewards))
            known = [r.correct for r in rewards if r.correct is not None]
            if known:
                log_metric(f"{self.__name__}/correct", sum(known) / len(known))
        if log_extra is not None:
            log_extra(f"{self.__name__}_reason", [r.reason for r in rewards])


def _messages(prompt: str | list[Turn]) -> tuple[Message, ...]:
    if isinstance(prompt, str):
        return (Message(role="user", content=prompt),)
    return tuple(Message(role=turn["role"], content=_content(turn)) for turn in prompt)


def _text(completion: str | list[Turn]) -> str:
    """The text of a completion; of a conversation, what the assistant said."""
    if isinstance(completion, str):
        return completion
    return "".join(_content(turn) for turn in completion if turn.get("role") == "assistant")


def _content(turn: Turn) -> str:
    content = turn.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)
