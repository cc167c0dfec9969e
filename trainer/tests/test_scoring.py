"""Totals of weighted terms; a part that is missing leaves the total without a score."""

from __future__ import annotations

import pytest

from cascade_rl import Completion, LengthBudget, Prompt
from cascade_rl.config.resolved import ResolvedDomain
from cascade_rl.config.schema import CascadeConfig, RewardTerm
from cascade_rl.registry import Registry
from cascade_rl.types import SamplingParams
from cascade_rl_trainer.local.scoring import Scorer

BUDGET = LengthBudget(prompt_tokens=32, completion_tokens=6)
PROMPT = Prompt.from_text("echo-a0", "a", ground_truth="a")


@pytest.fixture
def total(echo_pack):
    config = CascadeConfig.model_validate(
        {
            "name": "x",
            "workers": 0,
            "model": {"build": {}},
            "stages": [{"name": "s", "domain": "echo", "steps": 1}],
        }
    )
    domain = ResolvedDomain(name="echo", options={}, budget=BUDGET, sampling=SamplingParams())

    def score(terms, text, options=None):
        chosen = domain.model_copy(update={"options": options or {}})
        parsed = [RewardTerm.model_validate(t) for t in terms] or None
        with Scorer(config, chosen, parsed, Registry()) as scorer:
            return scorer.total(scorer.submit(PROMPT, Completion(text=text), BUDGET))

    return score


def test_without_terms_the_domain_decides(total):
    assert (total([], "a").score, total([], "b").score) == (1.0, 0.0)


def test_weights_and_components(total):
    terms = [
        {"domain": "echo", "weight": 2},
        {"modifier": "length", "weight": -0.5, "options": {"scale": 4}},
    ]
    reward = total(terms, "a b")
    assert reward.score == pytest.approx(2 * 1 - 0.5 * 0.5)
    assert (reward.components["echo"], reward.components["length"]) == (1.0, 0.5)
    assert reward.correct is True


def test_a_missing_component_makes_the_total_unscored(total):
    terms = [{"domain": "echo"}, {"modifier": "length", "options": {"unit": "tokens"}}]
    reward = total(terms, "a")
    assert (reward.score, reward.correct, reward.status) == (None, None, "error")
    assert reward.reason == (
        "reward term 'length' has no score (error): the completion's length in tokens is not known"
    )


def test_an_unscored_base_stays_unscored(total):
    terms = [{"domain": "echo"}, {"modifier": "length"}]
    reward = total(terms, "a", {"fault": "none"})
    assert (reward.score, reward.status) == (None, "abstained")


def test_the_files_limits_and_cache_reach_the_engine(echo_pack, tmp_path):
    """A second scorer finds the first one's verdict; each engine has what the file says."""
    config = CascadeConfig.model_validate(
        {
            "name": "x",
            "workers": 1,
            "reward_timeout_s": 7,
            "reward_memory_mb": 900,
            "reward_cache": str(tmp_path / "verdicts"),
            "model": {"build": {}},
            "stages": [{"name": "s", "domain": "echo", "steps": 1}],
        }
    )
    domain = ResolvedDomain(name="echo", options={}, budget=BUDGET, sampling=SamplingParams())
    for hits in (0, 1):
        with Scorer(config, domain, None, Registry()) as scorer:
            reward = scorer.total(scorer.submit(PROMPT, Completion(text="a"), BUDGET))
            assert reward.score == 1.0
            engine = scorer._engines["echo"]
            assert engine.counts.get("cache_hits", 0) == hits
            assert (engine.limits.timeout_s, engine.limits.memory_mb) == (7, 900)
