"""Prometheus metrics. In a service of several processes each scrape adds up all of them."""

from __future__ import annotations

import os
from collections import Counter as Tally
from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from cascade_rl.engine.retry import BLAMED
from cascade_rl.types import Reward

#: Set by the supervisor of several processes, before this module is imported.
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """The counters of one application. Labels take few values: domain, status, route, code."""

    def __init__(self, waiting: Callable[[], float]) -> None:
        self._shared = SHARED_FOLDER in os.environ
        self._registry = CollectorRegistry()
        r = None if self._shared else self._registry
        self._rewards = Counter(
            "cascade_rewards", "Samples answered.", ("domain", "status"), registry=r
        )
        self._requests = Counter("cascade_requests", "Answers.", ("route", "code"), registry=r)
        self._seconds = Histogram(
            "cascade_request_seconds", "Time to answer.", ("route",), buckets=_SECONDS, registry=r
        )
        self._verifying = Histogram(
            "cascade_reward_seconds",
            "Time in the verifier.",
            ("domain",),
            buckets=_SECONDS,
            registry=r,
        )
        self._stand_ins = Counter(
            "cascade_stand_ins",
            "Numbers sent for samples without a score, because a format or --unscored-as asks it.",
            ("domain", "dialect"),
            registry=r,
        )
        self._blamed = Counter(
            "cascade_blamed",
            "Samples scored wrong because they broke the verifier twice and the gold passed.",
            ("domain",),
            registry=r,
        )
        self._waiting_now = waiting
        self._waiting = Gauge(
            "cascade_waiting",
            "Samples not yet answered.",
            registry=r,
            multiprocess_mode="livesum",
        )

    def answered(self, domain: str, rewards: Sequence[Reward]) -> None:
        """Count rewards by status, and the verifier's time."""
        for status, count in Tally(reward.status for reward in rewards).items():
            self._rewards.labels(domain, status).inc(count)
        if blamed := sum(BLAMED in reward.components for reward in rewards):
            self._blamed.labels(domain).inc(blamed)
        histogram = self._verifying.labels(domain)
        for reward in rewards:
            if reward.ms is not None:
                histogram.observe(reward.ms / 1e3)

    def request(self, route: str, code: int, seconds: float) -> None:
        """Count one answer."""
        self._requests.labels(route, str(code)).inc()
        self._seconds.labels(route).observe(seconds)
        self._waiting.set(self._waiting_now())

    def stand_in(self, domain: str, dialect: str) -> None:
        """Count a number that stands for no score."""
        self._stand_ins.labels(domain, dialect).inc()

    def text(self) -> bytes:
        """The exposition."""
        self._waiting.set(self._waiting_now())
        registry = self._registry
        if self._shared:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
