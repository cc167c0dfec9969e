"""OpenRLHF's remote reward model: ``--reward.remote_url http://host:port/get_reward``.

Its client sends the decoded prompt and reply as one text, tries five times a second apart on
any failure, and takes the first element of each list.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.responses import Response

from cascade_rl.service.dialects.common import domain_of, item, number
from cascade_rl.service.problems import Refusal, answer
from cascade_rl.service.scoring import Scoring
from cascade_rl.service.strict_json import StrictRoute
from cascade_rl.types import Reward

NAME = "openrlhf"

#: What tokenizers write at the end of a reply, and pad with.
_END = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>", "<|eom_id|>",
    "</s>", "<eos>", "<pad>", "[PAD]", "<end_of_turn>", "<｜end▁of▁sentence｜>",
)  # fmt: skip


class GetReward(BaseModel):
    """Three lists of one length."""

    model_config = ConfigDict(extra="ignore")

    query: list[str] = Field(description="Prompt and reply in one text, special tokens included.")
    prompts: list[str]
    labels: list[JsonValue] | None = Field(default=None, description="Ground truths.")


class GotReward(BaseModel):
    """A number a query; ``scores`` lie in 0..1 where the domain says right or wrong."""

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


def routes(scoring: Scoring, described: dict[str, Any]) -> APIRouter:
    """``POST /get_reward``."""
    router = APIRouter(route_class=StrictRoute, tags=[NAME])

    @router.post("/get_reward", response_model=GotReward, openapi_extra=described)
    async def get_reward(body: GetReward, request: Request) -> Response:
        """OpenRLHF: rewards of queries, each a prompt with its reply."""
        domain = domain_of(request, scoring)
        labels = body.labels if body.labels is not None else [None] * len(body.query)
        if not len(body.query) == len(body.prompts) == len(labels):
            lengths = f"{len(body.query)}, {len(body.prompts)} and {len(labels)}"
            raise Refusal(422, "invalid", f"query, prompts and labels have {lengths} elements")
        items = [
            item(domain, prompt, truth, reply_in(query, prompt), identity=str(place))
            for place, (query, prompt, truth) in enumerate(
                zip(body.query, body.prompts, labels, strict=True)
            )
        ]
        rewards = await scoring.score_apart(domain, items)
        numbers = [
            number(scoring, domain, NAME, reward, f"query {place}: ")
            for place, reward in enumerate(rewards)
        ]
        scores = [_share(r, n) for r, n in zip(rewards, numbers, strict=True)]
        return answer({"rewards": numbers, "scores": scores, "extra_logs": _logs(rewards)})

    return router


def reply_in(query: str, prompt: str) -> str:
    """The reply of a query, without the special tokens at its end. Raises ``Refusal`` 422.

    Decoding may put a token before the prompt, so the prompt is looked for, not counted off.
    """
    start = query.find(prompt)
    if start < 0:
        raise Refusal(
            422, "invalid", f"the query does not contain its prompt ({prompt!r:.60}); send both "
            "from the same chat template"
        )  # fmt: skip
    reply = query[start + len(prompt) :]
    return reply[: _length_without_end(reply)]


def _length_without_end(reply: str) -> int:
    length = end = len(reply)  # in one pass: what a policy writes must not take long to read
    while True:
        while end and reply[end - 1].isspace():
            end -= 1
        token = next((t for t in _END if reply.endswith(t, 0, end)), None)
        if token is None:
            return length
        length = end = end - len(token)


def _share(reward: Reward, value: float) -> float:
    return value if reward.correct is None else float(reward.correct)


def _logs(rewards: list[Reward]) -> dict[str, list[float]]:
    """The components that every sample has: the trainer takes the names from one of them."""
    columns: dict[str, list[float]] = {}
    for name in rewards[0].components if rewards else ():
        values = [reward.components.get(name) for reward in rewards]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            columns[name] = known
    return columns
