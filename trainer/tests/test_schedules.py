"""Schedules against numbers worked out by hand."""

from __future__ import annotations

import pytest

from cascade_rl.config.schema import AdvanceConfig, Knot, OptimizerConfig
from cascade_rl_trainer.algorithm.schedules import learning_rate, should_advance, value_at

KNOTS = (Knot(step=10, value=0.8), Knot(step=20, value=0.5))


@pytest.mark.parametrize(
    ("step", "expected"), [(0, 1.0), (9, 1.0), (10, 0.8), (19, 0.8), (20, 0.5), (999, 0.5)]
)
def test_a_value_holds_from_its_knot_on(step, expected):
    assert value_at(KNOTS, step, 1.0) == expected
    assert value_at(tuple(reversed(KNOTS)), step, 1.0) == expected


def test_token_counts_stay_whole():
    value = value_at((Knot(step=0, value=24576),), 0, 16384)
    assert (value, type(value)) == (24576, int)
    assert value_at((), 5, 7) == 7


def test_constant_rate():
    config = OptimizerConfig(lr=1e-3)
    assert [learning_rate(config, s, 10) for s in (0, 5, 9, 50)] == [1e-3] * 4


def test_warm_up_is_linear_and_never_zero():
    config = OptimizerConfig(lr=1.0, warmup_steps=3)
    rates = [learning_rate(config, s, 10) for s in range(5)]
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])


def test_cosine_from_lr_to_min_lr():
    config = OptimizerConfig(lr=1.0, min_lr=0.2, schedule="cosine")
    rates = [learning_rate(config, s, 4) for s in range(5)]
    # 0.2 + 0.8 * (1 + cos(pi * s / 4)) / 2
    assert rates == pytest.approx([1.0, 0.8828427, 0.6, 0.3171573, 0.2])
    assert learning_rate(config, 9, 4) == pytest.approx(0.2)


def test_cosine_begins_after_the_warm_up():
    config = OptimizerConfig(lr=1.0, schedule="cosine", warmup_steps=2)
    assert learning_rate(config, 2, 6) == pytest.approx(1.0)
    assert learning_rate(config, 4, 6) == pytest.approx(0.5)


def test_cosine_of_a_stage_that_is_all_warm_up():
    config = OptimizerConfig(lr=1.0, schedule="cosine", warmup_steps=5)
    assert learning_rate(config, 4, 5) == pytest.approx(5 / 6)


def test_advance_needs_a_full_window_below_the_limit():
    rule = AdvanceConfig(truncation_below=0.1, window=2)
    assert not should_advance([0.0], rule)
    assert not should_advance([0.0, 0.2], rule)
    assert not should_advance([0.05, 0.15], rule)  # exactly 0.1 is not below it
    assert should_advance([0.9, 0.05, 0.14], rule)
    assert not should_advance([0.0, 0.0], None)


def test_advance_waits_for_min_steps():
    rule = AdvanceConfig(truncation_below=0.1, window=2, min_steps=4)
    assert not should_advance([0.0] * 3, rule)
    assert should_advance([0.0] * 4, rule)
