"""``RewardEngine``: pairs of prompt and completion in, rewards out, none lost, none invented."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol, Self

from cascade_rl.engine.inline import InlineExecutor
from cascade_rl.engine.processes import ProcessExecutor
from cascade_rl.engine.verdict import Item
from cascade_rl.registry import Registry
from cascade_rl.types import Completion, Reward

ASYNC_CONCURRENCY = 64
MAX_PENDING = 4096


class Executor(Protocol):
    """Where one attempt at an item is made."""

    def submit(self, item: Item, alone: bool = False) -> Future[Reward]:
        """Start one attempt; the future never raises."""

    def close(self) -> None:
        """Stop."""


class RewardEngine:
    """Scores completions of one domain.

    ``workers`` processes, each with a hard wall-clock limit of ``timeout_s`` seconds a
    sample; 0 scores in this process, where a hanging synchronous reward cannot be stopped.
    A sample that ends as ``timeout`` or ``error`` is tried once more, alone on a worker. If
    it fails again and the pack's gold completion for the same prompt passes, the completion
    is what breaks the verifier, and it is scored wrong: unscored must not become a way out.
    """

    def __init__(
        self,
        domain: str,
        options: dict[str, Any] | None = None,
        *,
        workers: int = 1,
        timeout_s: float = 30.0,
        registry: Registry | None = None,
    ) -> None:
        self.domain = (registry or Registry()).open(domain, options)
        concurrency = ASYNC_CONCURRENCY if self.domain.is_async else 1
        self._executor: Executor = (
            ProcessExecutor(
                domain,
                options or {},
                workers=workers,
                timeout_s=timeout_s,
                concurrency=concurrency,
            )
            if workers
            else InlineExecutor(self.domain, timeout_s=timeout_s, concurrency=concurrency)
        )
        self._room = threading.BoundedSemaphore(MAX_PENDING)

    def submit(self, item: Item) -> Future[Reward]:
        """Start scoring one item; blocks while ``MAX_PENDING`` items are unanswered.

        The future ends with a ``Reward`` and never raises.
        """
        self._room.acquire()
        outcome: Future[Reward] = Future()
        outcome.add_done_callback(lambda _: self._room.release())
        first = self._executor.submit(item)
        first.add_done_callback(lambda done: self._after_first(item, done.result(), outcome))
        return outcome

    def score(self, items: Iterable[Item]) -> list[Reward]:
        """Rewards in the order of the items."""
        return [reward for _, reward in self.in_order((item, item) for item in items)]

    def in_order(self, items: Iterable[tuple[Any, Item | Reward]]) -> Iterator[tuple[Any, Reward]]:
        """(key, reward) in the order asked, in bounded memory; keys come back untouched.

        What is a ``Reward`` already (a malformed line, say) keeps its place.
        """
        waiting: deque[tuple[Any, Future[Reward]]] = deque()
        for key, item in items:
            waiting.append((key, self._future(item)))
            while waiting and (waiting[0][1].done() or len(waiting) >= MAX_PENDING // 2):
                first, future = waiting.popleft()
                yield first, future.result()
        for key, future in waiting:
            yield key, future.result()

    def stream(self, items: Iterable[tuple[Any, Item]]) -> Iterator[tuple[Any, Reward]]:
        """(key, reward) as rewards finish, in bounded memory."""
        keys: dict[Future[Reward], Any] = {}
        for key, item in items:
            keys[self.submit(item)] = key
            finished = [f for f in keys if f.done()]
            if not finished and len(keys) >= MAX_PENDING // 2:
                finished = list(wait(keys, return_when=FIRST_COMPLETED).done)
            for future in finished:
                yield keys.pop(future), future.result()
        while keys:
            for future in wait(keys, return_when=FIRST_COMPLETED).done:
                yield keys.pop(future), future.result()

    def close(self) -> None:
        """Stop the workers."""
        self._executor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _future(self, item: Item | Reward) -> Future[Reward]:
        if isinstance(item, Item):
            return self.submit(item)
        done: Future[Reward] = Future()
        done.set_result(item)
        return done

    def _after_first(self, item: Item, reward: Reward, outcome: Future[Reward]) -> None:
        if reward.status not in ("timeout", "error"):
            outcome.set_result(reward)
            return
        second = self._executor.submit(item, alone=True)
        second.add_done_callback(lambda done: self._after_second(item, done.result(), outcome))

    def _after_second(self, item: Item, reward: Reward, outcome: Future[Reward]) -> None:
        if reward.status not in ("timeout", "error"):
            outcome.set_result(reward)
            return
        gold = self._gold_verdict(item)
        if gold is None:
            outcome.set_result(reward)
            return
        gold.add_done_callback(lambda done: outcome.set_result(_blame(reward, done.result())))

    def _gold_verdict(self, item: Item) -> Future[Reward] | None:
        try:
            gold = self.domain.gold_completion(item.prompt)
        except Exception:  # the pack is at fault twice; the first fault is the one reported
            return None
        if gold is None or gold == item.completion.text:
            return None
        return self._executor.submit(
            Item(prompt=item.prompt, completion=Completion(text=gold)), alone=True
        )


def _blame(failed: Reward, gold: Reward) -> Reward:
    """Decide between the pack's fault and a completion that breaks verifiers."""
    if gold.correct is not True:
        return failed
    reason = f"breaks the verifier twice ({failed.reason}) while the gold completion passes"
    return Reward.verdict(
        False, reason=reason, truncated=failed.truncated, pack_version=failed.pack_version
    )
