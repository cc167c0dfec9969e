"""What a probe can ask of a plugin, each answered in the plugin's own process.

``serve`` is a worker's target. All code of a plugin runs here, never in the kit's process: a
plugin that hangs, crashes or eats memory is then a failing line and not a hanging kit.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import pickle
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from cascade_rl.errors import PackError
from cascade_rl.testing.served import Served
from cascade_rl.types import (
    Completion,
    Demonstration,
    Example,
    Mode,
    Prompt,
    Record,
    Reward,
    Sample,
    Stage,
    StageKind,
)
from cascade_rl.workers import Channel, serve_calls


def serve(channel: Channel, init: dict[str, Any]) -> None:
    """Answer ``{"op": name, …}`` messages about the plugin named in ``init``."""
    served = Served(init["kind"], init["name"], init["options"])
    loop = asyncio.new_event_loop()

    def answer(message: dict[str, Any]) -> Any:
        fields = {key: value for key, value in message.items() if key != "op"}
        if message["op"] == "score":
            return served.answer(fields["item"], loop).model_dump(mode="json")
        return QUESTIONS[message["op"]](served, **fields)

    serve_calls(channel, answer)


def _score_in_thread(served: Served, item: dict[str, Any]) -> Any:
    found = []

    def run() -> None:
        loop = asyncio.new_event_loop()
        found.append(served.answer(item, loop).model_dump(mode="json"))
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def _prompts(served: Served, split: Any, shown: int) -> dict[str, Any]:
    prompts = served.plugin.load_prompts(split)
    digest = hashlib.sha256(json.dumps([p.id for p in prompts]).encode()).hexdigest()
    return {"count": len(prompts), "ids": digest, "sample": _plain(_spread(prompts, shown))}


def _demonstrations(served: Served, split: Any, shown: int) -> dict[str, Any]:
    found = served.plugin.load_demonstrations(split)
    return {"count": len(found), "sample": _plain(_spread(found, shown))}


def _examples(served: Served) -> list[Any]:
    return _plain(served.plugin.examples())


def _gold(served: Served, prompt: dict[str, Any]) -> str | None:
    gold: str | None = served.plugin.gold_completion(Prompt.model_validate(prompt))
    return gold


def _defaults(served: Served) -> list[list[str]]:
    """(call, what is wrong) of the budgets and sampling values that fail."""
    wrong = []
    for index, kind in enumerate(get_args(StageKind)):
        stage = Stage(name=f"check-{kind}", kind=kind, index=index)
        calls: dict[str, Callable[[], Any]] = {
            f"length_budget(stage={kind})": lambda s=stage: served.plugin.length_budget(s)  # type: ignore[misc]
        }
        for mode in get_args(Mode):
            calls[f"sampling_params(stage={kind}, mode={mode!r})"] = (
                lambda s=stage, m=mode: served.plugin.sampling_params(s, m)  # type: ignore[misc]
            )
        for name, call in calls.items():
            try:
                call()
            except PackError as error:
                wrong.append([name, str(error)])
    return wrong


def _group(served: Served, prompt: Any, completions: Any, rewards: Any, hook: str) -> list[Any]:
    asked = Prompt.model_validate(prompt)
    texts = [Completion.model_validate(c) for c in completions]
    given = [Reward.model_validate(r) for r in rewards]
    if hook == "reward_group":
        return _plain(served.plugin.reward_group(asked, texts, given))
    batch = [
        Sample(prompt=asked, completion=c, reward=r) for c, r in zip(texts, given, strict=True)
    ]
    return _plain(served.plugin.shape_rewards(batch))


def _travels(served: Served, shown: int) -> list[list[str]]:
    """(what, how it changed) of all that does not survive JSON and pickle."""
    things: list[tuple[str, Any]] = [("the options", served.plugin.options)]
    if served.kind == "domain":
        prompts = [p for s in ("train", "eval") for p in served.plugin.load_prompts(s)]
        things += [(f"prompt {p.id!r}", p) for p in _spread(prompts, shown)]
        with contextlib.suppress(PackError):  # it has a check of its own
            things += [(f"example {e.name!r}", e) for e in served.plugin.examples()]
        if "load_demonstrations" in served.plugin.hooks:
            found = served.plugin.load_demonstrations("train")
            things += [(f"demonstration {d.id!r}", d) for d in _spread(found, shown)]
    return [[what, fault] for what, thing in things for fault in _journey(thing)]


def _journey(thing: BaseModel) -> list[str]:
    public = {t.__name__: t for t in (Prompt, Demonstration, Example)}
    if isinstance(thing, Record) and type(thing) is not public.get(type(thing).__name__):
        return [f"its type is {type(thing).__qualname__}, a class of the pack's own"]
    try:
        plain = thing.model_dump(mode="json", warnings="error")
        arrived = type(thing).model_validate(json.loads(json.dumps(plain)))
    except (ValueError, TypeError) as error:
        return [f"as JSON: {type(error).__name__}: {' '.join(str(error).split())[:200]}"]
    if arrived != thing:
        return [f"as JSON it arrives as {arrived!r:.200}"]
    try:
        pickle.loads(pickle.dumps(thing))  # noqa: S301 - what it was made from a line above
    except Exception as error:
        return [f"pickled: {type(error).__name__}: {error}"]
    return []


def _default_options(served: Served) -> list[list[str]]:
    """(option, what is wrong) of defaults that the pack's own ``Options`` refuses."""
    options = served.plugin.options
    try:
        type(options).model_validate(options.model_dump())
    except ValidationError as error:
        return [
            [
                f"{'.'.join(map(str, item['loc'])) or '(all)'} = {item['input']!r}",
                item["msg"].removeprefix("Value error, "),
            ]
            for item in error.errors()
        ]
    return []


def _spread(items: Sequence[Any], count: int) -> list[Any]:
    if len(items) <= count:
        return list(items)
    return [items[place * len(items) // count] for place in range(count)]


def _plain(things: Iterable[BaseModel]) -> list[Any]:
    """As JSON, cut down to the fields of our own types; what cannot be JSON is left out."""
    kept = []
    for thing in things:
        base = next(t for t in type(thing).__mro__ if t.__module__ == Record.__module__)
        fields = set(base.model_fields)  # type: ignore[attr-defined]
        try:
            kept.append(thing.model_dump(mode="json", include=fields, warnings="none"))
        except (ValueError, TypeError):
            continue
    return kept


QUESTIONS: dict[str, Callable[..., Any]] = {
    "load": Served.load,
    "score_in_thread": _score_in_thread,
    "prompts": _prompts,
    "demonstrations": _demonstrations,
    "examples": _examples,
    "gold": _gold,
    "defaults": _defaults,
    "group": _group,
    "travels": _travels,
    "default_options": _default_options,
}
