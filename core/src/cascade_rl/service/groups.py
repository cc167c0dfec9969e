"""``reward_group`` for whole groups, in a process that can be killed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from cascade_rl.engine import Item
from cascade_rl.errors import CascadeError, PackError
from cascade_rl.registry import Registry
from cascade_rl.types import Completion, Prompt, Reward
from cascade_rl.workers import CallPool, Channel, serve_calls

TARGET = "cascade_rl.service.groups:serve"


def serve(channel: Channel, init: dict[str, Any]) -> None:
    """The worker's target: one domain, one group a call."""
    domain = Registry().open(init["domain"], init["options"])
    domain.open()

    def shape(group: dict[str, Any]) -> list[dict[str, Any]]:
        rewards = domain.reward_group(
            Prompt.model_validate(group["prompt"]),
            [Completion.model_validate(c) for c in group["completions"]],
            [Reward.model_validate(r) for r in group["rewards"]],
        )
        return [reward.model_dump(mode="json") for reward in rewards]

    try:
        serve_calls(channel, shape)
    finally:
        domain.close()


class GroupShaper:
    """Calls a pack's ``reward_group`` with a deadline."""

    def __init__(self, domain: str, options: dict[str, Any], timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._pool = CallPool(TARGET, {"domain": domain, "options": options})

    async def shape(self, items: Sequence[Item], rewards: Sequence[Reward]) -> list[Reward]:
        """The final rewards of one group; all unscored when the hook fails."""
        payload = {
            "prompt": items[0].prompt.model_dump(mode="json"),
            "completions": [item.completion.model_dump(mode="json") for item in items],
            "rewards": [reward.model_dump(mode="json") for reward in rewards],
        }
        try:
            found = await asyncio.to_thread(self._pool.call, payload, self._timeout_s)
        except (CascadeError, PackError) as error:
            lost = Reward.unscored("error", f"reward_group: {error}"[:500])
            return [lost] * len(items)
        return [Reward.model_validate(reward) for reward in found]

    def close(self) -> None:
        """Stop the process."""
        self._pool.close()
