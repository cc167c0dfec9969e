"""A reward function for verl that asks a reward service.

    reward.custom_reward_function.path=pkg://cascade_rl.client.verl

with the service in the variable ``CASCADE_REWARD_URL`` (and its token in
``CASCADE_REWARD_TOKEN``). The domain is the row's ``data_source``, or ``CASCADE_REWARD_DOMAIN``
for all rows. Written against verl 0.9.1, whose reward loop awaits the function for one sample
at a time; those of one process travel together. verl itself is not imported.
"""

from __future__ import annotations

import os
from typing import Any

from pydantic import JsonValue

from cascade_rl.client.synchronous import RewardClient
from cascade_rl.engine import Item
from cascade_rl.errors import CascadeError, RunError
from cascade_rl.types import Completion, Message, Prompt

URL, TOKEN, DOMAIN = "CASCADE_REWARD_URL", "CASCADE_REWARD_TOKEN", "CASCADE_REWARD_DOMAIN"

_clients: dict[tuple[str, str], RewardClient] = {}


class Unscored(CascadeError):
    """The sample has no score after all retries. verl has no place for that but an error."""


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: JsonValue,
    extra_info: dict[str, Any] | None = None,
    **_: Any,
) -> dict[str, Any]:
    """The verdict on one completion; its keys are the same for every sample, as verl demands.

    Of ``extra_info`` are read, where they are there: ``prompt`` (text or chat messages),
    ``index``, ``mode``, ``finish_reason``. Raises ``Unscored``, or ``ServiceRefused``.
    """
    extra = extra_info or {}
    item = Item(
        prompt=Prompt(
            id=str(extra.get("index", "0")),
            messages=_messages(extra.get("prompt", "")),
            ground_truth=ground_truth,
            mode=extra.get("mode", "none"),
        ),
        completion=Completion(text=solution_str, finish_reason=extra.get("finish_reason", "stop")),
    )
    (reward,) = await _client(os.environ.get(DOMAIN, data_source)).ascore([item])
    if reward.score is None:
        raise Unscored(f"{data_source}: not scored ({reward.status}): {reward.reason}")
    return {
        "score": reward.score,
        "acc": reward.score if reward.correct is None else float(reward.correct),
        "extracted": reward.extracted or "",
        "reason": reward.reason,
        "truncated": float(reward.truncated),
    }


def close() -> None:
    """Close the connections of this process."""
    while _clients:
        _clients.popitem()[1].close()


def _client(domain: str) -> RewardClient:
    url = os.environ.get(URL)
    if not url:
        raise RunError(f"set {URL} to the address of the reward service (`cascade serve`)")
    if (url, domain) not in _clients:
        _clients[url, domain] = RewardClient(url, domain, token=os.environ.get(TOKEN))
    return _clients[url, domain]


def _messages(prompt: Any) -> tuple[Message, ...]:
    if isinstance(prompt, str):
        return (Message(role="user", content=prompt),)
    return tuple(Message(role=turn["role"], content=turn["content"]) for turn in prompt)
