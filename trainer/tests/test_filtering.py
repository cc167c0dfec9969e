"""Which groups carry signal, and which prompts an epoch leaves out."""

from __future__ import annotations

import json

import pytest

from cascade_rl.config.schema import FilterConfig
from cascade_rl.errors import RunError
from cascade_rl.types import LengthBudget, Reward
from cascade_rl_trainer.algorithm.filtering import EpochFilter, has_signal

KEEP = LengthBudget(prompt_tokens=8, completion_tokens=8, overlong="keep")
MASK = KEEP.model_copy(update={"overlong": "mask"})
ZERO = KEEP.model_copy(update={"overlong": "zero"})
RIGHT, WRONG = Reward.verdict(True), Reward.verdict(False)
UNSCORED = Reward.unscored("error", "broken")


def cut(correct):
    return Reward(score=float(correct), correct=correct, truncated=True)


def scores(*values):
    return [Reward(score=v) for v in values]


def test_all_right_has_no_signal_although_shaping_differs():
    shaped = [Reward(score=s, correct=True) for s in (1.125, 1.125, 0.9)]
    assert not has_signal(shaped, KEEP)


def test_mixed_correctness_is_signal_although_shaped_scores_agree():
    same = [Reward(score=0.5, correct=c) for c in (True, False)]
    assert has_signal(same, KEEP)


def test_without_verdicts_the_scores_decide():
    assert has_signal(scores(0.1, 0.2), KEEP)
    assert not has_signal(scores(0.1, 0.1, 0.1), KEEP)
    assert has_signal([RIGHT, Reward(score=0.5)], KEEP)


@pytest.mark.parametrize("group", [[RIGHT] * 3, [WRONG] * 3, [RIGHT, UNSCORED], [UNSCORED], []])
def test_no_signal(group):
    assert not has_signal(group, KEEP)


def test_masked_samples_count_only_on_request():
    group = [RIGHT, RIGHT, cut(False)]
    assert not has_signal(group, MASK)
    assert has_signal(group, MASK, masked_in_group=True)
    assert has_signal(group, ZERO)


def test_a_group_of_masked_samples_has_no_signal_however_they_differ():
    assert not has_signal([cut(True), cut(False)], MASK, masked_in_group=True)


def test_a_truncated_right_answer_is_wrong_where_overlong_means_zero():
    assert has_signal([RIGHT, cut(True)], ZERO)
    assert not has_signal([WRONG, cut(True)], ZERO)


def make(seed=0, **config):
    return EpochFilter(FilterConfig(kind="epoch", **config), seed, "math")


def test_all_right_and_all_wrong_are_dropped_mixed_ones_stay():
    f = make(return_hard=0, return_easy=0)
    f.record("easy", [RIGHT, RIGHT])
    f.record("hard", [WRONG, WRONG])
    f.record("mixed", [RIGHT, WRONG])
    assert f.end_epoch() == {"seen": 3, "dropped_hard": 1, "dropped_easy": 1}
    assert f.select(["easy", "hard", "mixed", "unseen"], 1) == ["mixed", "unseen"]


def test_nothing_is_dropped_before_the_epoch_ends():
    f = make(return_hard=0, return_easy=0)
    f.record("easy", [RIGHT])
    assert f.select(["easy"], 0) == ["easy"]


def test_unscored_samples_are_no_evidence():
    f = make(return_hard=0, return_easy=0)
    f.record("broken", [UNSCORED, UNSCORED])
    f.record("half", [WRONG, UNSCORED])
    f.end_epoch()
    assert f.select(["broken", "half"], 1) == ["broken"]


def test_without_verdicts_equal_scores_are_dropped():
    f = make(return_hard=0, return_easy=0)
    f.record("flat", scores(0.4, 0.4))
    f.record("varied", scores(0.4, 0.5))
    f.end_epoch()
    assert f.select(["flat", "varied"], 1) == ["varied"]


def test_dropped_prompts_return_at_their_rates():
    f, ids = make(seed=3), [f"p{i}" for i in range(4000)]
    for i in ids:
        f.record(f"h{i}", [WRONG])
        f.record(f"e{i}", [RIGHT])
    f.end_epoch()
    hard = len(f.select([f"h{i}" for i in ids], 1)) / 4000
    easy = len(f.select([f"e{i}" for i in ids], 1)) / 4000
    # binomial: standard deviations 0.0047 and 0.0016
    assert hard == pytest.approx(0.10, abs=0.015)
    assert easy == pytest.approx(0.01, abs=0.006)


def test_every_epoch_draws_anew_and_the_draw_is_a_function_of_names():
    f, g, ids = make(return_hard=0.5), make(return_hard=0.5), [f"p{i}" for i in range(64)]
    for one in (f, g):
        for i in reversed(ids) if one is g else ids:
            one.record(i, [WRONG])
        one.end_epoch()
    assert f.select(ids, 1) == g.select(ids, 1)
    assert f.select(ids, 1) != f.select(ids, 2)
    assert f.select(ids, 1) != make_dropped(ids, seed=1).select(ids, 1)


def make_dropped(ids, seed):
    f = make(seed=seed, return_hard=0.5)
    for i in ids:
        f.record(i, [WRONG])
    f.end_epoch()
    return f


def test_a_prompt_that_returns_and_is_mixed_stays():
    f = make(return_hard=0, return_easy=0)
    f.record("p", [WRONG])
    f.end_epoch()
    f.record("p", [WRONG, RIGHT])
    f.end_epoch()
    assert f.select(["p"], 2) == ["p"]


def test_a_prompt_that_does_not_return_stays_dropped():
    f = make(return_hard=0, return_easy=0)
    f.record("p", [WRONG])
    f.end_epoch()
    assert f.end_epoch() == {"seen": 0, "dropped_hard": 1, "dropped_easy": 0}
    assert f.select(["p"], 2) == []


def test_state_survives_json():
    f, g = make(return_hard=0, return_easy=0), make(return_hard=0, return_easy=0)
    f.record("hard", [WRONG])
    f.end_epoch()
    f.record("half", [RIGHT])
    g.load_state(json.loads(json.dumps(f.state())))
    assert g.state() == f.state()
    g.record("half", [WRONG])
    g.end_epoch()
    assert g.select(["hard", "half"], 2) == ["half"]


@pytest.mark.parametrize("state", [{}, {"counts": 3}, {"counts": {"a": [1]}}, []])
def test_a_foreign_state_is_refused(state):
    with pytest.raises(RunError, match="not the state of an epoch filter"):
        make().load_state(state)
