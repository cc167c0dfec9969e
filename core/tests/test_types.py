"""Unscored never becomes a number, and thoughts are split where the recipe says."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from cascade_rl import Completion, Reward


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"score": None}, "status 'scored' needs a score"),
        ({"score": float("nan")}, "score must be finite, got nan"),
        ({"score": float("inf")}, "score must be finite, got inf"),
        ({"score": 0.0, "status": "error"}, "status 'error' means not scored, got score 0.0"),
        ({"score": None, "status": "timeout", "correct": False}, "got correct=False"),
        ({"score": 1.0, "components": {"a": float("nan")}}, "component 'a' must be finite"),
        ({"score": 1.0, "corect": True}, "corect"),
    ],
)
def test_contradictory_rewards_are_refused(fields, message):
    with pytest.raises(ValidationError, match=message):
        Reward(**fields)


def test_rewards_may_be_any_real_number():
    assert Reward(score=-13.5).score == -13.5


@pytest.mark.parametrize(
    ("text", "thoughts", "answer"),
    [
        ("<think>a</think>b", "a", "b"),
        ("a</think> b ", "a", "b"),  # the template wrote <think> already
        ("<think>a</think>b</think>c", "a", "b</think>c"),
        ("b", None, "b"),
        ("<think>never closed", None, "<think>never closed"),
        ("</think>b", "", "b"),
        ("", None, ""),
    ],
)
def test_thoughts_end_at_the_first_closing_tag(text, thoughts, answer):
    completion = Completion(text=text)
    assert (completion.thoughts, completion.answer) == (thoughts, answer)


def test_types_are_frozen():
    with pytest.raises(ValidationError):
        Completion(text="a").text = "b"
