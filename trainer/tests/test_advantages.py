"""Group-normalised advantages against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from cascade_rl_trainer.algorithm.advantages import group_advantages, group_statistics

NAN = float("nan")


def advantages(scores, groups, part=None, **options):
    part = [True] * len(scores) if part is None else part
    tensor = torch.tensor(scores, dtype=torch.float64)
    return group_advantages(tensor, groups, part, **options).tolist()


def test_two_right_of_four():
    # mean 0.5; deviations 0.5, squares sum to 1, over n - 1 = 3: std 0.57735
    expected = 0.5 / (math.sqrt(1 / 3) + 1e-6)
    assert advantages([1, 0, 0, 1], [7, 7, 7, 7]) == pytest.approx(
        [expected, -expected, -expected, expected], abs=1e-12
    )


def test_unscored_samples_leave_mean_and_deviation_alone():
    # a reward of None: mean 2/3 and std 0.57735 over the three known ones
    result = advantages([1, NAN, 0, 1], [0] * 4, [True, False, True, True], eps=0)
    assert result == pytest.approx([0.57735, 0, -1.154701, 0.57735], abs=1e-6)
    assert result[1] == 0


def test_an_unscored_sample_never_takes_part_even_when_told_so():
    result = advantages([1, NAN, 0], [0] * 3, [True, True, True], eps=0)
    assert result == pytest.approx([0.7071068, 0, -0.7071068])


def test_known_says_which_scores_count():
    with_flag = advantages([1, 0.0, 0, 1], [0] * 4, known=[True, False, True, True], eps=0)
    assert with_flag == pytest.approx([0.57735, 0, -1.154701, 0.57735], abs=1e-6)


def test_epsilon_stands_outside_the_root():
    # std is 2.582e-5; with eps inside the root the result would be 0.03, not 1.12
    result = advantages([0.5, 0.50002, 0.50004, 0.50006], [0] * 4, eps=1e-6)
    assert result == pytest.approx([-1.1186, -0.3729, 0.3729, 1.1186], abs=1e-4)


def test_a_masked_sample_does_not_move_the_baseline():
    result = advantages([1, 0, 9], [0, 0, 0], [True, True, False], eps=0)
    assert result == pytest.approx([0.7071068, -0.7071068, 0])


def test_masked_samples_count_on_request_but_still_get_nothing():
    # mean 10/3; deviations -7/3, -10/3, 17/3; squares 438/9, over 2: std 4.9329
    result = advantages([1, 0, 9], [0] * 3, [True, True, False], masked_in_group=True, eps=0)
    assert result == pytest.approx([-7 / 3 / 4.932883, -10 / 3 / 4.932883, 0], abs=1e-6)


def test_unscored_samples_do_not_count_even_with_masked_in_group():
    result = advantages([1, 0, NAN], [0] * 3, [True, True, False], masked_in_group=True, eps=0)
    assert result == pytest.approx([0.7071068, -0.7071068, 0])


def test_groups_are_found_by_id_when_prompts_are_interleaved():
    # prompt 5 got 1 and 1, prompt 9 got 0 and 0: nothing to learn from either
    assert advantages([1, 0, 1, 0], [5, 9, 5, 9]) == [0, 0, 0, 0]
    assert advantages([1, 0, 0, 0], [5, 9, 5, 9], eps=0) == pytest.approx(
        [0.7071068, 0, -0.7071068, 0]
    )


@pytest.mark.parametrize("value", [0.1, 0.3, 0.4, 1e-9, 1e12])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equal_scores_give_exactly_zero(value, dtype):
    # the mean of equal floats need not equal them; a tolerance on the result lets noise through
    scores = torch.full((7,), value, dtype=dtype)
    result = group_advantages(scores, [3] * 7, [True] * 7)
    assert result.dtype == dtype
    assert result.tolist() == [0.0] * 7


def test_scores_that_differ_in_the_last_bits_are_not_equal():
    result = advantages([0.5, 0.5 + 2**-52], [0, 0])
    assert result[0] < 0 < result[1]


def test_one_counted_sample_has_no_advantage():
    assert advantages([3, 1, NAN], [0, 1, 1], [True, True, False]) == [0, 0, 0]


def test_empty_batch_and_batch_without_any_score():
    assert advantages([], []) == []
    assert advantages([NAN, NAN], [0, 0], [False, False]) == [0, 0]


def test_negative_and_unbounded_scores():
    # mean -10/3... by hand: scores -12, 4, 5: mean -1, deviations -11, 5, 6, squares 182 / 2
    assert advantages([-12, 4, 5], [0] * 3, eps=0) == pytest.approx(
        [-11 / math.sqrt(91), 5 / math.sqrt(91), 6 / math.sqrt(91)]
    )


@pytest.mark.parametrize("bad", [math.inf, -math.inf])
def test_infinite_scores_are_refused(bad):
    with pytest.raises(ValueError, match=r"score 1 is -?inf; scores must be finite"):
        advantages([1, bad], [0, 0])


def test_nan_declared_as_known_is_refused():
    with pytest.raises(ValueError, match="score 0 is nan"):
        advantages([NAN, 1], [0, 0], known=[True, True])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="3 group ids for 2 scores"):
        advantages([1, 0], [0, 0, 0])
    with pytest.raises(ValueError, match="flags of shape"):
        advantages([1, 0], [0, 0], [True])


def test_statistics_are_the_groups_own():
    stats = group_statistics(
        torch.tensor([1.0, 10.0, 3.0, 10.0]), [0, 1, 0, 1], [True, True, True, True]
    )
    assert stats.mean.tolist() == [2, 10, 2, 10]
    assert stats.std.tolist() == pytest.approx([math.sqrt(2), 0, math.sqrt(2), 0])
    assert stats.flat.tolist() == [False, True, False, True]
