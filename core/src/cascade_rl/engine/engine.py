"""``RewardEngine``: pairs of prompt and completion in, rewards out, none lost, none invented."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

from cascade_rl.engine.attempt import Executor, Scorer, Task
from cascade_rl.engine.cache_key import KeyMaker
from cascade_rl.engine.counts import Counts
from cascade_rl.engine.inline import InlineExecutor
from cascade_rl.engine.item import Item
from cascade_rl.engine.limits import Limits
from cascade_rl.engine.processes import ProcessExecutor
from cascade_rl.engine.quarantine import Quarantine
from cascade_rl.engine.retry import Judge
from cascade_rl.engine.room import Room
from cascade_rl.engine.streams import as_finished, as_finished_async, in_order, score_in_order
from cascade_rl.errors import EngineError
from cascade_rl.registry import Registry
from cascade_rl.types import Reward

MAX_PENDING = 4096
_log = logging.getLogger("cascade_rl.engine")


class RewardEngine:
    """Scores completions of one domain.

    ``workers`` processes, each with a hard wall-clock limit of ``timeout_s`` seconds and, on
    Linux, a memory limit of ``memory_mb`` megabytes a sample; 0 scores in this process, where
    a hanging synchronous reward cannot be stopped. ``deadline_s`` (default: ten times
    ``timeout_s`` and a minute) is the total from a sample's first try to the end of its last;
    judging the gold completion comes on top. ``concurrency`` and ``rate_per_s`` go before what
    the pack declares. ``quarantine_dir`` takes a replay file of each sample that cost two
    workers (default: in the user's cache folder). What follows a failed try is said in
    ``engine.retry``.

    ``cache`` is a folder for verdicts, shared by any number of processes, of about
    ``cache_mb`` megabytes; no cache is kept for a pack that declares itself not deterministic.

    ``blame``: a completion that fails twice where the prompt's gold completion passes is scored
    wrong, so that no policy learns to be unscored; False leaves it unscored.

    ``ray`` is the address of a Ray cluster ("auto": the one this machine is part of): every
    node then runs ``workers`` processes. The cache stays here.

    Raises a subclass of ``PackError`` where the domain cannot be used, ``EngineError`` where
    the engine cannot work as it is asked to, ``ValueError`` on a number out of its range.
    """

    def __init__(
        self,
        domain: str,
        options: dict[str, Any] | None = None,
        *,
        workers: int = 1,
        timeout_s: float = 30.0,
        registry: Registry | None = None,
        memory_mb: int | None = None,
        deadline_s: float | None = None,
        concurrency: int | None = None,
        rate_per_s: float | None = None,
        quarantine_dir: Path | None = None,
        cache: Path | None = None,
        cache_mb: int = 1024,
        ray: str | None = None,
        blame: bool = True,
    ) -> None:
        self.domain = (registry or Registry()).open(domain, options)
        if workers:
            _check_plain(options or {})
        self.limits = Limits.of(
            self.domain,
            workers=workers,
            timeout_s=timeout_s,
            deadline_s=deadline_s,
            memory_mb=memory_mb,
            concurrency=concurrency,
            rate_per_s=rate_per_s,
            blame=blame,
        )
        self._counts = Counts()
        keys = self._key_maker(options or {}) if cache else None
        if ray is None:
            self._scorer: Scorer = self._local(options or {}, workers, keys, quarantine_dir)
        else:
            self._scorer = self._on_ray(options or {}, workers, ray, quarantine_dir)
        if cache and keys:
            from cascade_rl.engine.cache import VerdictCache  # SQLite is loaded when asked for

            self._scorer = VerdictCache.open(self._scorer, keys, cache, cache_mb, self._counts)
        self._room = Room(MAX_PENDING)

    @property
    def counts(self) -> dict[str, int]:
        """What has happened so far, by name; what never happened is absent."""
        return self._counts.all()

    def submit(self, item: Item) -> Future[Reward]:
        """Start scoring one item; blocks while ``MAX_PENDING`` items are unanswered.

        The future ends with a ``Reward``; it never raises and cannot be cancelled. Its
        callbacks run on the engine's threads, where they must not block or submit.
        """
        self._room.enter()
        return self._begin(item)

    async def submit_async(self, item: Item) -> Future[Reward]:
        """``submit`` for a coroutine: the event loop goes on while there is no room."""
        await self._room.enter_async()
        return self._begin(item)

    def score(self, items: Iterable[Item]) -> list[Reward]:
        """Rewards in the order of the items."""
        return [reward for _, reward in self.in_order((None, item) for item in items)]

    def in_order(self, items: Iterable[tuple[Any, Item | Reward]]) -> Iterator[tuple[Any, Reward]]:
        """(key, reward) in the order asked, in bounded memory; keys come back untouched.

        What is a ``Reward`` already (a malformed line, say) keeps its place.
        """
        return in_order(self, items)

    def stream(self, items: Iterable[tuple[Any, Item]]) -> Iterator[tuple[Any, Reward]]:
        """(key, reward) as rewards finish, in bounded memory."""
        return as_finished(self, items)

    def astream(
        self, items: Iterable[tuple[Any, Item]] | AsyncIterable[tuple[Any, Item]]
    ) -> AsyncIterator[tuple[Any, Reward]]:
        """``async for key, reward``, as rewards finish, in bounded memory.

        Items are taken while rewards are given, so they may arrive as they are generated.
        With ``workers=0`` a synchronous reward is judged on the event loop's thread.
        """
        return as_finished_async(self, items)

    async def ascore(self, items: Iterable[Item] | AsyncIterable[Item]) -> list[Reward]:
        """Rewards in the order of the items; the event loop goes on meanwhile."""
        return await score_in_order(self, items)

    def close(self) -> None:
        """Stop the workers; whatever is unanswered ends as status "error"."""
        self._scorer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _local(
        self,
        options: dict[str, Any],
        workers: int,
        keys: KeyMaker | None,
        quarantine_dir: Path | None,
    ) -> Judge:
        domain = self.domain
        self._executor: Executor = (
            ProcessExecutor(
                domain.name,
                options,
                self.limits,
                workers=workers,
                is_async=domain.is_async,
                source=keys.source if keys else None,
                counts=self._counts,
            )
            if workers
            else InlineExecutor(domain, self.limits)
        )
        kept = Quarantine(quarantine_dir, domain.name, options, self.limits)
        return Judge(
            self._executor,
            kept,
            self._counts,
            fresh_retries=not domain.is_async,
            blame=self.limits.blame,
        )

    def _on_ray(
        self, options: dict[str, Any], workers: int, address: str, quarantine_dir: Path | None
    ) -> Scorer:
        from cascade_rl.engine.ray_pools import RayPools

        if not workers:
            raise EngineError("on Ray, workers is the number of processes a node: 1 or more")
        return RayPools(
            self.domain,
            options,
            self.limits,
            workers=workers,
            address=address,
            quarantine_dir=quarantine_dir,
            counts=self._counts,
        )

    def _key_maker(self, options: dict[str, Any]) -> KeyMaker | None:
        if self.domain.declared.deterministic:
            return KeyMaker(self.domain, options, self.limits)
        _log.warning("domain %r declares itself not deterministic: no cache", self.domain.name)
        return None

    def _begin(self, item: Item) -> Future[Reward]:
        outcome: Future[Reward] = Future()
        outcome.set_running_or_notify_cancel()  # a cancelled future could not take its reward
        outcome.add_done_callback(lambda _: self._room.leave())
        try:
            self._scorer.start(Task(item), lambda attempt: outcome.set_result(attempt.reward))
        except BaseException:  # an interrupt, while scoring in this very thread
            if not outcome.done():
                outcome.set_result(Reward.unscored("error", "interrupted"))
            raise
        return outcome


def _check_plain(options: dict[str, Any]) -> None:
    for key, value in options.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise EngineError(
                f"option {key!r} is {value!r:.80}, which JSON cannot hold and so no worker "
                f"process can be told; give a plain value, or use workers=0"
            ) from error
