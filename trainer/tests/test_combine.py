"""Weighted rewards: sums, missing terms, cancelling terms."""

from __future__ import annotations

import pytest
import torch

from cascade_rl.config.schema import RewardTerm
from cascade_rl.types import Reward
from cascade_rl_trainer.algorithm.advantages import group_advantages
from cascade_rl_trainer.algorithm.combine import cancelling_terms, combine_rewards, term_names

TERMS = (RewardTerm(domain="math"), RewardTerm(modifier="length", weight=-0.5))
BASE = Reward(score=1.0, correct=True, truncated=True, extracted="4", components={"format": 1.0})


def length(score):
    return Reward(score=score)


def test_the_total_is_the_weighted_sum_and_keeps_the_domains_verdict():
    total = combine_rewards(BASE, [BASE, length(0.4)], TERMS)
    assert total.score == pytest.approx(1.0 - 0.5 * 0.4)
    assert (total.correct, total.truncated, total.extracted) == (True, True, "4")
    assert total.components == {"format": 1.0, "math": 1.0, "length": 0.4}


def test_a_total_of_modifiers_alone_still_knows_what_was_right():
    total = combine_rewards(BASE, [length(2.0)], TERMS[1:])
    assert (total.score, total.correct) == (-1.0, True)


@pytest.mark.parametrize(
    ("part", "status", "why"),
    [
        (None, "error", "reward term 'length' is missing"),
        (
            Reward.unscored("timeout", "30 s"),
            "timeout",
            r"reward term 'length' has no score \(timeout\): 30 s",
        ),
    ],
)
def test_a_missing_term_leaves_the_total_unscored(part, status, why):
    total = combine_rewards(BASE, [BASE, part], TERMS)
    assert (total.score, total.correct, total.status) == (None, None, status)
    assert total.components == {"format": 1.0, "math": 1.0, "length": None}
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(total.reason)


def test_an_unscored_domain_leaves_the_total_unscored():
    broken = Reward.unscored("bad_prompt", "no ground truth")
    total = combine_rewards(broken, [broken, length(0.4)], TERMS)
    assert (total.score, total.status) == (None, "bad_prompt")
    assert "'math'" in total.reason


def test_a_weight_of_zero_does_not_hide_a_missing_term():
    terms = (TERMS[0], RewardTerm(modifier="length", weight=0))
    assert combine_rewards(BASE, [BASE, None], terms).score is None


def test_an_overflow_is_unscored():
    terms = (RewardTerm(domain="math", weight=1e308), RewardTerm(modifier="length", weight=1e308))
    total = combine_rewards(BASE, [length(1.5), length(1.5)], terms)
    assert (total.score, total.status) == (None, "error")


def test_every_total_is_a_valid_reward():
    for parts in ([BASE, length(0.4)], [BASE, None]):
        total = combine_rewards(BASE, parts, TERMS)
        assert Reward.model_validate(total.model_dump()) == total


def test_parts_and_terms_must_match():
    with pytest.raises(ValueError, match="1 parts for 2 reward terms"):
        combine_rewards(BASE, [BASE], TERMS)
    with pytest.raises(ValueError, match="at least 1"):
        combine_rewards(BASE, [], ())


def test_repeated_terms_get_names_of_their_own():
    terms = (TERMS[1], TERMS[0], TERMS[1])
    assert term_names(terms) == ["length", "math", "length_2"]
    total = combine_rewards(BASE, [length(1.0), BASE, length(3.0)], terms)
    assert total.components["length"] == 1.0
    assert total.components["length_2"] == 3.0
    assert total.score == pytest.approx(-0.5 + 1 - 1.5)


def opposed(weight):
    terms = (RewardTerm(domain="math"), RewardTerm(modifier="length", weight=weight))
    pairs = [(1.0, -1 / weight), (-1.0, 1 / weight)]
    return terms, [
        combine_rewards(Reward(score=a), [length(a), length(b)], terms) for a, b in pairs
    ]


def test_opposite_terms_that_cancel_are_named():
    terms, rewards = opposed(1.0)
    assert cancelling_terms(rewards, terms) == ("math", "length")
    scores = torch.tensor([r.score for r in rewards])
    assert group_advantages(scores, [0, 0], [True, True]).tolist() == [0, 0]


@pytest.mark.parametrize("weight", [0.1, 0.3, 3.0, 7.0])
def test_cancelling_up_to_the_last_bits_is_cancelling(weight):
    terms, rewards = opposed(weight)
    assert cancelling_terms(rewards, terms) == ("math", "length")


def test_nothing_is_named_when_the_total_varies_or_nothing_does():
    varied = [combine_rewards(BASE, [BASE, length(s)], TERMS) for s in (0.0, 1.0)]
    flat = [combine_rewards(BASE, [BASE, length(0.5)], TERMS) for _ in range(2)]
    assert cancelling_terms(varied, TERMS) == ()
    assert cancelling_terms(flat, TERMS) == ()
    assert cancelling_terms([Reward.unscored("error", "x")] * 2, TERMS) == ()
    assert cancelling_terms([], TERMS) == ()
