"""Seeds, orders and modes as functions of names."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from cascade_rl_trainer.algorithm.randomness import (
    assign_modes,
    chance,
    derive_seed,
    epoch_order,
    sample_seed,
)


def test_seeds_are_fixed_for_all_time():
    # a change here would make resumed runs differ from the runs they resume
    assert derive_seed("a", 1) == 697930202312019326
    assert derive_seed() == 2858069222894195974


def test_seeds_do_not_depend_on_the_process():
    code = (
        "from cascade_rl_trainer.algorithm.randomness import sample_seed;"
        "print(sample_seed(0, 'math', 3, 'p', 1))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(out.stdout) == sample_seed(0, "math", 3, "p", 1)


def test_every_part_matters_and_parts_do_not_run_together():
    base = (0, "math", 3, "p", 1)
    others = [(1, "math", 3, "p", 1), (0, "code", 3, "p", 1), (0, "math", 4, "p", 1),
              (0, "math", 3, "q", 1), (0, "math", 3, "p", 2)]  # fmt: skip
    assert len({sample_seed(*parts) for parts in [base, *others]}) == 6
    assert derive_seed("ab", "c") != derive_seed("a", "bc")
    assert derive_seed("1") != derive_seed(1)
    assert derive_seed('a","b') != derive_seed("a", "b")


def test_chances_are_spread_evenly():
    values = [chance("x", i) for i in range(4000)]
    assert all(0 <= v < 1 for v in values)
    assert sum(values) / 4000 == pytest.approx(0.5, abs=0.02)
    assert sum(v < 0.1 for v in values) / 4000 == pytest.approx(0.1, abs=0.02)


def test_an_epoch_is_a_permutation_that_changes_with_the_epoch():
    ids = [f"p{i}" for i in range(50)]
    first, second = epoch_order(ids, 0, "math", 0), epoch_order(ids, 0, "math", 1)
    assert sorted(first) == sorted(ids)
    assert first != second
    assert first != ids
    assert epoch_order(list(reversed(ids)), 0, "math", 0) == first


def test_orders_are_uniform_enough():
    firsts = Counter(epoch_order(["a", "b", "c", "d"], s, "x", 0)[0] for s in range(2000))
    assert all(abs(n - 500) < 100 for n in firsts.values())


def test_half_and_half_is_exact():
    modes = assign_modes(32, {"think": 1, "no_think": 1}, 0, "rlhf", 0)
    assert Counter(modes) == {"think": 16, "no_think": 16}
    assert modes != assign_modes(32, {"think": 1, "no_think": 1}, 0, "rlhf", 1)


def test_an_odd_batch_gives_the_extra_prompt_to_either_mode():
    extra = Counter(
        Counter(assign_modes(3, {"think": 1, "no_think": 1}, 0, "s", step))["think"]
        for step in range(400)
    )
    assert set(extra) == {1, 2}
    assert abs(extra[1] - 200) < 60


def test_uneven_shares_use_the_largest_remainders():
    # 10 prompts, shares 2:1:1 -> 5, 2.5, 2.5
    shares = {"think": 2, "no_think": 1, "none": 1}
    modes = Counter(assign_modes(10, shares, 0, "s", 0))
    assert modes["think"] == 5
    assert {modes["no_think"], modes["none"]} == {2, 3}


def test_one_mode_and_empty_batches():
    assert assign_modes(3, {"think": 0.5}, 0, "s", 0) == ["think"] * 3
    assert assign_modes(0, {"think": 1}, 0, "s", 0) == []


@pytest.mark.parametrize("shares", [{}, {"think": 0}])
def test_shares_must_add_up_to_something(shares):
    with pytest.raises(ValueError, match="more than 0"):
        assign_modes(4, shares, 0, "s", 0)
