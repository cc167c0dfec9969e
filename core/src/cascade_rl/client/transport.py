"""One batch until it is answered: tries again what is worth it, until a deadline."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Any

import httpx

from cascade_rl.client.faults import WORTH_RETRYING, ServiceRefused, Unanswered, pauses
from cascade_rl.client.wire import BadReply, Packed, request, request_head, rewards_in
from cascade_rl.types import Reward

PATH = "/v1/rewards"
TOO_LARGE = 413


class Transport:
    """Sends batches. Belongs to one event loop."""

    def __init__(
        self,
        url: str,
        domain: str,
        options: dict[str, Any],
        token: str | None,
        timeout_s: float,
        connections: int,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(
                f"the service's URL is {url!r}; it must begin with http:// or https://"
            )
        self._head = request_head(domain, options)
        self._randomness = random.Random()  # noqa: S311 - spreads retries, guards nothing
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.AsyncClient(
            base_url=url,
            headers=headers,
            timeout=httpx.Timeout(timeout_s, pool=None),
            limits=httpx.Limits(max_connections=connections),
        )

    async def score(self, items: Sequence[Packed], deadline: float) -> list[Reward]:
        """Rewards in order. ``deadline`` is on the monotonic clock.

        A batch that the service finds too large goes in halves; an item that is too large by
        itself is unscored. Raises ``ServiceRefused`` or ``Unanswered``.
        """
        try:
            return await self._exchange(items, deadline)
        except ServiceRefused as refusal:
            if refusal.http != TOO_LARGE:
                raise
            if len(items) == 1:
                return [Reward.unscored("error", str(refusal))]
        middle = len(items) // 2
        first = await self.score(items[:middle], deadline)
        return first + await self.score(items[middle:], deadline)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _exchange(self, items: Sequence[Packed], deadline: float) -> list[Reward]:
        content, waits = request(self._head, items), pauses(self._randomness)
        while True:
            wait = next(waits)
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    response = await self._http.post(PATH, content=content)
                if response.is_success:
                    return rewards_in(response.json(), items)
                fault = _fault(response)
                wait = max(wait, _asked_wait(response))
            except TimeoutError:
                fault = "no answer in time"
            except (httpx.TransportError, BadReply, ValueError) as error:
                fault = f"{type(error).__name__}: {error}"
            if time.monotonic() + wait >= deadline:
                raise Unanswered(f"the reward service did not answer in time; last: {fault}")
            await asyncio.sleep(wait)


def _fault(response: httpx.Response) -> str:
    """What a refusal says, if it is worth another try. Raises ``ServiceRefused`` if not."""
    try:
        said = str(response.json()["detail"])
    except (ValueError, TypeError, KeyError):
        said = response.text[:200]
    text = f"HTTP {response.status_code}: {said}"
    if response.status_code in WORTH_RETRYING:
        return text
    raise ServiceRefused(
        f"the reward service refused {response.request.url}: {text}", response.status_code
    )


def _asked_wait(response: httpx.Response) -> float:
    asked = response.headers.get("Retry-After", "")
    return float(asked) if asked.isdigit() else 0.0
