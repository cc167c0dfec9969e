"""The length modifier grows from 0 inside the wanted range to 1 a `scale` outside of it."""

from __future__ import annotations

import pytest

from cascade_rl import Completion, Prompt, Reward
from cascade_rl.registry import Registry

BASE = Reward(score=1.0)
PROMPT = Prompt.from_text("p", "?")


@pytest.mark.parametrize(
    ("options", "text", "score"),
    [
        ({}, "one two three", 0.03),
        ({"low": 8, "scale": 8}, "one two three", 5 / 8),
        ({"low": 2, "high": 4}, "one two three", 0.0),
        ({"low": 2, "high": 4, "scale": 4}, "a b c d e f", 0.5),
        ({"low": 8, "scale": 4}, "", 1.0),
        ({"unit": "characters", "scale": 10}, "12345", 0.5),
        ({"scale": 10}, "<think>a b c</think>d", 0.1),
        ({"scale": 10, "part": "all"}, "<think>a b c</think> d", 0.4),
    ],
)
def test_distance_from_the_range(options, text, score):
    modifier = Registry().modifier("length", options)
    assert modifier.modify(PROMPT, Completion(text=text), BASE).score == pytest.approx(score)


def test_tokens_that_are_not_known_leave_it_unscored():
    modifier = Registry().modifier("length", {"unit": "tokens"})
    reward = modifier.modify(PROMPT, Completion(text="a"), BASE)
    assert (reward.score, reward.status) == (None, "error")
    assert modifier.modify(PROMPT, Completion(text="a", tokens=50), BASE).score == 0.5
