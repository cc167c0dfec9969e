"""Which prompts and which demonstrations a step gets. No generator lives between steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cascade_rl.config.schema import FilterConfig
from cascade_rl.types import Mode, Prompt, Reward
from cascade_rl_trainer.algorithm.filtering import EpochFilter
from cascade_rl_trainer.algorithm.randomness import assign_modes, epoch_order


class PromptFeed:
    """Passes over the prompts, each in an order of its own, filtered if the stage says so."""

    def __init__(
        self, prompts: Sequence[Prompt], config: FilterConfig, seed: int, stage: str
    ) -> None:
        self._prompts = {p.id: p for p in prompts}
        self._seed, self._stage = seed, stage
        self._filter = EpochFilter(config, seed, stage) if config.kind == "epoch" else None
        self._epoch, self._position = 0, 0
        self._order = self._epoch_ids()

    def draw(self, count: int, taken: frozenset[str] = frozenset()) -> list[Prompt]:
        """The next ``count`` prompts, none twice and none of ``taken``.

        Fewer where the filter has left fewer; empty where nothing is left at all.
        """
        drawn: dict[str, Prompt] = {}
        barren = 0  # epochs in a row that gave this batch nothing new
        while len(drawn) < count and barren < 2:
            if self._position >= len(self._order):
                self._next_epoch()
                barren += 1
                continue
            identity = self._order[self._position]
            self._position += 1
            if identity not in drawn and identity not in taken:
                drawn[identity] = self._prompts[identity]
                barren = 0
        return list(drawn.values())

    def record(self, prompt_id: str, rewards: Sequence[Reward]) -> None:
        """Tell the filter how a group went."""
        if self._filter is not None:
            self._filter.record(prompt_id, rewards)

    @property
    def epoch(self) -> int:
        """The pass that the next prompt belongs to, counted from 0."""
        return self._epoch

    def state(self) -> dict[str, Any]:
        """Everything needed to go on, as plain JSON."""
        return {
            "epoch": self._epoch,
            "position": self._position,
            "filter": self._filter.state() if self._filter else None,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        if self._filter is not None:
            self._filter.load_state(state["filter"])
        self._epoch = state["epoch"]
        self._order = self._epoch_ids()
        self._position = state["position"]

    def _next_epoch(self) -> None:
        if self._filter is not None:
            self._filter.end_epoch()
        self._epoch, self._position = self._epoch + 1, 0
        self._order = self._epoch_ids()

    def _epoch_ids(self) -> list[str]:
        ids = epoch_order(list(self._prompts), self._seed, self._stage, self._epoch)
        return ids if self._filter is None else self._filter.select(ids, self._epoch)


def in_modes(
    prompts: list[Prompt],
    shares: Mapping[Mode, float] | None,
    seed: int,
    stage: str,
    step: int,
) -> list[Prompt]:
    """The prompts of a batch with the stage's share of modes; as they are where it has none."""
    if not shares:
        return prompts
    modes = assign_modes(len(prompts), shares, seed, stage, step)
    return [p.model_copy(update={"mode": m}) for p, m in zip(prompts, modes, strict=True)]


class DemonstrationFeed:
    """Batches mixed from several sources in fixed shares. Knows sizes only, not the rows."""

    def __init__(
        self,
        sizes: Mapping[str, int],
        weights: Mapping[str, float],
        batch_size: int,
        seed: int,
        stage: str,
    ) -> None:
        self._sizes, self._seed, self._stage = sizes, seed, stage
        self._counts = exact_shares(weights, batch_size)
        self._orders: dict[tuple[str, int], list[int]] = {}

    def batch(self, step: int) -> list[tuple[str, int]]:
        """(source, row) of each demonstration of a step (0 is the first)."""
        return [
            (name, self._nth(name, step * count + k))
            for name, count in self._counts.items()
            for k in range(count)
        ]

    def _nth(self, name: str, n: int) -> int:
        epoch, place = divmod(n, self._sizes[name])
        if (name, epoch) not in self._orders:
            self._orders = {key: o for key, o in self._orders.items() if key[0] != name}
            names = [str(i) for i in range(self._sizes[name])]
            order = epoch_order(names, self._seed, f"{self._stage}/{name}", epoch)
            self._orders[name, epoch] = [int(i) for i in order]
        return self._orders[name, epoch][place]


def exact_shares(weights: Mapping[str, float], count: int) -> dict[str, int]:
    """``count`` split by weight, largest remainders first; ties go to the first named."""
    total = sum(weights.values())
    exact = {name: count * weight / total for name, weight in weights.items()}
    shares = {name: int(value) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: shares[name] - exact[name])
    for name in by_remainder[: count - sum(shares.values())]:
        shares[name] += 1
    return shares
