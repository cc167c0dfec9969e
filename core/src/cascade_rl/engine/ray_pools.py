"""The Ray executor's driver side: one actor a node, each with a worker pool of its own.

A node that dies costs nothing but time: its samples go to the others. Nodes that join are
used, unless the domain's rate or concurrency is limited, for that was shared out at the start.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cascade_rl.engine.answer import read_answer
from cascade_rl.engine.attempt import Task, Then, closed
from cascade_rl.engine.counts import Counts
from cascade_rl.engine.limits import Limits
from cascade_rl.engine.ray_node import NodePool
from cascade_rl.errors import EngineError
from cascade_rl.registry import Domain
from cascade_rl.registry.source import pack_hash

#: A sample that was lost with so many nodes may be what kills them.
MAX_LOSSES = 3
LOOK_FOR_NODES_S = 2.0
NODE_COOL_DOWN_S = 10.0
START_TIMEOUT_S = 120.0
TURN_S = 0.02
TAKE_S = 0.5
CLOSE_GRACE_S = 5.0
#: Seconds of work that a node is given in advance.
AHEAD_S = 0.25
_log = logging.getLogger("cascade_rl.engine")


@dataclass(eq=False, slots=True)
class _Sample:
    task: Task
    then: Then
    line: bytes
    losses: int = 0


@dataclass(eq=False)
class _Pool:
    """The driver's book about one node."""

    node: str
    actor: Any
    waits_for: Any
    window: int
    ready: bool = False
    samples: dict[int, _Sample] = field(default_factory=dict)
    since: float = field(default_factory=time.monotonic)

    def is_late(self) -> bool:
        """Whether it should have been ready by now."""
        return not self.ready and time.monotonic() > self.since + START_TIMEOUT_S

    def answered(self, count: int, least: int) -> None:
        """Give the node as much ahead as it gets done in ``AHEAD_S`` seconds."""
        now = time.monotonic()
        rate = count / max(1e-3, now - self.since)
        self.since = now
        self.window = max(least, min(2048, int((self.window + rate * AHEAD_S) / 2)))


class RayPools:
    """A ``Scorer`` over a Ray cluster: ``workers`` processes on each of its nodes.

    ``address`` is Ray's ("auto": the cluster that this machine belongs to; "local": a new one
    on this machine). Raises ``EngineError`` where Ray is not installed or not reached.
    """

    def __init__(
        self,
        domain: Domain,
        options: dict[str, Any],
        limits: Limits,
        *,
        workers: int,
        address: str,
        quarantine_dir: Path | None,
        counts: Counts,
    ) -> None:
        self._ray, self._ours = connect(address)
        self._limits, self._counts = limits, counts
        self._setup = {
            "domain": domain.name,
            "options": options,
            "workers": workers,
            "path": sys.path,
            "source": pack_hash(domain.distribution, domain.announcement.value),
            "quarantine": str(quarantine_dir.absolute()) if quarantine_dir else None,
        }
        self._least = 2 * workers * (8 if domain.is_async else 1)
        self._pools: list[_Pool] = []
        self._most_pools = len(self._nodes()) if limits.stated else sys.maxsize
        self._closed_nodes: dict[str, float] = {}
        self._failure = "it has no node with a CPU"
        self._look_at = 0.0
        self._pending: deque[_Sample] = deque()
        self._numbers = itertools.count()
        self._work = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="cascade-ray")
        self._thread.start()

    def start(self, task: Task, then: Then) -> None:
        """See ``Scorer``."""
        try:
            sample = _Sample(task, then, task.line)
        except ValueError as error:
            then(closed(f"this sample cannot be sent to a worker: {error}"[:500]))
            return
        with self._work:
            closing = self._closing
            if not closing:
                self._pending.append(sample)
                self._work.notify()
        if closing:
            then(closed())

    def close(self) -> None:
        """Stop the pools; whatever is unanswered ends as status "error"."""
        with self._work:
            self._closing = True
            self._work.notify()
        self._thread.join()

    def _run(self) -> None:
        reason = "the engine was closed"
        try:
            while not self._closing:
                self._turn()
        except Exception as error:  # nobody would ever answer: end every sample instead
            _log.exception("the engine's own fault")
            reason = f"the engine's own fault: {type(error).__name__}: {error}"
        with self._work:
            self._closing = True
        left = [s for pool in self._pools for s in pool.samples.values()] + list(self._pending)
        for sample in left:
            sample.then(closed(reason))
        self._stop_pools()

    def _turn(self) -> None:
        with self._work:
            if not self._pending and not any(pool.samples for pool in self._pools):
                self._work.wait(LOOK_FOR_NODES_S)
        self._look_for_nodes()
        for pool in [p for p in self._pools if p.is_late()]:
            self._lose(pool, TimeoutError(f"its pool did not start within {START_TIMEOUT_S:g} s"))
        self._hand_out()
        refs = {pool.waits_for: pool for pool in self._pools}
        if not refs:
            time.sleep(TURN_S)
            return
        done, _ = self._ray.wait(list(refs), num_returns=len(refs), timeout=TURN_S)
        for ref in done:
            self._hear(refs[ref], ref)

    def _nodes(self) -> list[str]:
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        return [node["NodeID"] for node in alive if node["Resources"].get("CPU", 0) > 0]

    def _look_for_nodes(self) -> None:
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + LOOK_FOR_NODES_S
        nodes, used = self._nodes(), {pool.node for pool in self._pools}
        new = [n for n in nodes if n not in used and self._closed_nodes.get(n, 0.0) < now]
        for node in new[: self._most_pools - len(self._pools)]:
            self._pools.append(self._start_pool(node, len(nodes)))
        if not self._pools:
            self._fail_pending()

    def _start_pool(self, node: str, among: int) -> _Pool:
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        limits = self._limits.share(among) if self._limits.stated else self._limits
        actor = (
            self._ray.remote(NodePool)
            .options(
                num_cpus=0,  # a cluster that is full of training must not keep it waiting
                max_concurrency=4,
                scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node, soft=False),
            )
            .remote({**self._setup, "limits": limits.model_dump()})
        )
        return _Pool(node, actor, actor.ready.remote(), self._least)

    def _hand_out(self) -> None:
        given: dict[_Pool, list[tuple[int, bytes]]] = {}
        while self._pending:
            open_ = [p for p in self._pools if p.ready and len(p.samples) < p.window]
            if not open_:
                break
            pool = min(open_, key=lambda p: len(p.samples) / p.window)
            sample, number = self._pending.popleft(), next(self._numbers)
            pool.samples[number] = sample
            given.setdefault(pool, []).append((number, sample.line))
        for pool, samples in given.items():
            pool.actor.put.remote(samples)

    def _hear(self, pool: _Pool, ref: Any) -> None:
        try:
            heard = self._ray.get(ref)
        except Exception as error:  # whatever Ray raises: this pool is of no use any more
            self._lose(pool, error)
            return
        if not pool.ready:
            pool.ready, pool.since = True, time.monotonic()
        else:
            self._take(pool, *heard)
        pool.waits_for = pool.actor.take.remote(2048, TAKE_S)

    def _take(self, pool: _Pool, answers: Sequence[bytes], counts: dict[str, int]) -> None:
        for name, number in counts.items():
            self._counts.add(name, number)
        if answers:
            pool.answered(len(answers), self._least)
        for line in answers:
            answer = read_answer(line)
            sample = pool.samples.pop(answer.number)
            assert answer.attempt is not None
            sample.then(answer.attempt)

    def _lose(self, pool: _Pool, error: Exception) -> None:
        self._pools.remove(pool)
        # Ray may list a dead node for a while: a pool that never came up there is no new loss.
        known = pool.node in self._closed_nodes and not pool.ready
        self._closed_nodes[pool.node] = time.monotonic() + NODE_COOL_DOWN_S
        last_line = str(error).strip().splitlines()[-1:] or [""]  # after Ray's own trace
        self._failure = f"{type(error).__name__}: {last_line[0]}"[:500]
        if not known:
            self._counts.add("nodes_lost")
        _log.warning(
            "Ray node %s is left out for now, %d samples go elsewhere: %s",
            pool.node[:12], len(pool.samples), self._failure,
        )  # fmt: skip
        for sample in reversed(pool.samples.values()):
            sample.losses += 1
            if sample.losses < MAX_LOSSES:
                self._pending.appendleft(sample)
            else:
                sample.then(closed(f"lost with {MAX_LOSSES} nodes; the last: {self._failure}"))
        self._look_at = 0.0

    def _fail_pending(self) -> None:
        with self._work:
            waiting, self._pending = self._pending, deque()
        for sample in waiting:
            sample.then(closed(f"no node of the Ray cluster can score: {self._failure}"))

    def _stop_pools(self) -> None:
        try:
            stopping = [pool.actor.stop.remote() for pool in self._pools if pool.ready]
            if stopping:
                self._ray.wait(stopping, num_returns=len(stopping), timeout=CLOSE_GRACE_S)
            for pool in self._pools:
                self._ray.kill(pool.actor)
            if self._ours:
                self._ray.shutdown()
        except Exception as error:  # the cluster may be gone; every sample is answered
            _log.warning("the Ray cluster was left without a word: %s", error)


def connect(address: str) -> tuple[Any, bool]:
    """(Ray, whether it is ours to shut down). Raises ``EngineError``."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError as error:
        raise EngineError(
            f"Ray is not installed ({error}): pip install 'cascade-rl[ray]'"
        ) from error
    if ray.is_initialized():
        return ray, False
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    except Exception as error:
        raise EngineError(f"no Ray cluster at {address!r}: {error}") from error
    return ray, True
