"""What the peers' routes share: which domain is meant, items, and what no score becomes."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue
from pydantic_core import from_json
from starlette.requests import Request

from cascade_rl.engine import Item
from cascade_rl.service.domain import ServedDomain
from cascade_rl.service.problems import Refusal, unscored
from cascade_rl.service.schemas import takes_text
from cascade_rl.service.scoring import Scoring
from cascade_rl.types import Completion, FinishReason, Message, Mode, Prompt, Reward

#: How long a sample may wait for room where the peer's client gives up at the first refusal.
PATIENCE_S = 60.0
PREFIX = "/for/{domain}"


def domain_of(request: Request, scoring: Scoring) -> ServedDomain:
    """The domain in the path (``/for/DOMAIN/…``) or in ``?domain=``; else the only one."""
    return scoring.pick(named_domain(request))


def named_domain(request: Request) -> str | None:
    """The domain that the request names, if it does."""
    return request.path_params.get("domain") or request.query_params.get("domain")


def domain_parameter(scoring: Scoring, prefixed: bool) -> dict[str, Any]:
    """How the OpenAPI document describes where the domain is said."""
    parameter: dict[str, Any] = {
        "name": "domain",
        "in": "path" if prefixed else "query",
        "required": prefixed or len(scoring.domains) > 1,
        "schema": {"type": "string", "enum": sorted(scoring.domains)},
    }
    return {"parameters": [parameter]}


def item(
    domain: ServedDomain,
    prompt: str | list[dict[str, Any]],
    ground_truth: JsonValue,
    completion: str,
    *,
    identity: str = "0",
    finish_reason: FinishReason = "stop",
    mode: Mode | None = None,
    metadata: dict[str, JsonValue] | None = None,
) -> Item:
    """The engine's form of a peer's sample; the domain's settings supply mode and budget."""
    return Item(
        prompt=Prompt(
            id=identity,
            messages=messages(prompt),
            ground_truth=label(domain, ground_truth),
            mode=mode or domain.settings.mode,
            metadata=metadata or {},
        ),
        completion=Completion(text=completion, finish_reason=finish_reason),
        budget=domain.settings.budget,
    )


def messages(prompt: str | list[dict[str, Any]]) -> tuple[Message, ...]:
    """Chat messages of a text, or of OpenAI-style messages (text parts are joined)."""
    if isinstance(prompt, str):
        return (Message(role="user", content=prompt),)
    return tuple(_message(turn) for turn in prompt)


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or a list of parts with a ``text``."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    raise Refusal(422, "invalid", f"a message's content is a {type(content).__name__}, not text")


def label(domain: ServedDomain, value: JsonValue) -> JsonValue:
    """A ground truth out of a format that knows only text: parsed where no text can be one."""
    if isinstance(value, str) and not takes_text(domain.ground_truth):
        try:
            parsed: JsonValue = from_json(value, allow_inf_nan=False)
        except ValueError:
            return value
        return parsed
    return value


def is_masked(domain: ServedDomain, reward: Reward) -> bool:
    """Whether a trainer would leave the sample out: truncated, and the budget says mask."""
    budget = domain.settings.budget
    return reward.truncated and budget is not None and budget.overlong == "mask"


def number(
    scoring: Scoring, domain: ServedDomain, dialect: str, reward: Reward, where: str = ""
) -> float:
    """The score; for a sample without one, or masked, an error or the stand-in that was asked
    for with ``unscored_as``. Raises ``Refusal``.
    """
    masked = is_masked(domain, reward)
    if reward.score is not None and not masked:
        return reward.score
    if scoring.settings.unscored_as is not None:
        scoring.metrics.stand_in(domain.name, dialect)
        return scoring.settings.unscored_as
    if masked:
        raise Refusal(422, "masked", f"{where}truncated, and the budget masks truncated samples")
    raise unscored(reward, where)


def _message(turn: dict[str, Any]) -> Message:
    role = turn.get("role")
    known: dict[Any, Any] = {r: r for r in ("system", "user", "assistant", "tool")}
    known |= {"developer": "system", "function": "tool"}
    if role not in known:
        allowed = ", ".join(known)
        raise Refusal(422, "invalid", f"a message's role is {role!r:.40}; known: {allowed}")
    return Message(role=known[role], content=text_of(turn.get("content")))
