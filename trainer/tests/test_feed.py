"""Feeds give every prompt once an epoch, resume anywhere, and never loop without end."""

from __future__ import annotations

import pytest

from cascade_rl import Prompt, Reward
from cascade_rl.config.schema import FilterConfig
from cascade_rl_trainer.local.feed import DemonstrationFeed, PromptFeed, exact_shares

PROMPTS = [Prompt.from_text(f"p{i}", str(i)) for i in range(10)]
NONE, EPOCH = FilterConfig(), FilterConfig(kind="epoch", return_hard=0, return_easy=0)


def ids(prompts):
    return [p.id for p in prompts]


def test_an_epoch_gives_each_prompt_once_in_an_order_of_its_own():
    feed = PromptFeed(PROMPTS, NONE, seed=0, stage="s")
    first, second = ids(feed.draw(10)), ids(feed.draw(10))
    assert sorted(first) == sorted(second) == sorted(ids(PROMPTS))
    assert first != second


def test_a_batch_across_epochs_holds_no_prompt_twice():
    feed = PromptFeed(PROMPTS, NONE, seed=0, stage="s")
    for _ in range(20):
        batch = ids(feed.draw(7))
        assert len(batch) == len(set(batch)) == 7


def test_taken_prompts_are_not_drawn_again_and_the_search_ends():
    feed = PromptFeed(PROMPTS, NONE, seed=0, stage="s")
    taken = frozenset(ids(PROMPTS)[:8])
    assert sorted(ids(feed.draw(5, taken))) == ["p8", "p9"]


@pytest.mark.parametrize("steps", [1, 3, 7])
def test_a_restored_feed_goes_on_where_it_was(steps):
    whole = PromptFeed(PROMPTS, EPOCH, seed=0, stage="s")
    for _ in range(steps):
        for prompt in whole.draw(4):
            whole.record(prompt.id, [Reward.verdict(True), Reward.verdict(prompt.id < "p5")])
    again = PromptFeed(PROMPTS, EPOCH, seed=0, stage="s")
    again.load_state(whole.state())
    assert [ids(again.draw(3)) for _ in range(4)] == [ids(whole.draw(3)) for _ in range(4)]


def test_solved_and_hopeless_prompts_leave_after_the_epoch():
    feed = PromptFeed(PROMPTS, EPOCH, seed=0, stage="s")
    for prompt in feed.draw(10):
        right = {"p0": (True, True), "p1": (False, False)}.get(prompt.id, (True, False))
        feed.record(prompt.id, [Reward.verdict(r) for r in right])
    assert sorted(ids(feed.draw(8))) == [f"p{i}" for i in range(2, 10)]


def test_nothing_left_gives_an_empty_batch():
    feed = PromptFeed(PROMPTS, EPOCH, seed=0, stage="s")
    for prompt in feed.draw(10):
        feed.record(prompt.id, [Reward.verdict(True)] * 2)
    assert feed.draw(4) == []


def test_demonstrations_are_mixed_in_exact_shares():
    feed = DemonstrationFeed({"a": 5, "b": 50}, {"a": 1, "b": 3}, 8, seed=0, stage="s")
    for step in range(10):
        names = [name for name, _ in feed.batch(step)]
        assert (names.count("a"), names.count("b")) == (2, 6)


def test_demonstrations_come_once_an_epoch_from_any_step():
    feed = DemonstrationFeed({"a": 6}, {"a": 1}, 4, seed=0, stage="s")
    drawn = [row for step in range(3) for _, row in feed.batch(step)]
    assert sorted(drawn[:6]) == sorted(drawn[6:]) == list(range(6))
    fresh = DemonstrationFeed({"a": 6}, {"a": 1}, 4, seed=0, stage="s")
    assert fresh.batch(2) == feed.batch(2)


@pytest.mark.parametrize(
    ("weights", "count", "shares"),
    [
        ({"a": 1, "b": 1}, 4, {"a": 2, "b": 2}),
        ({"a": 1, "b": 1}, 5, {"a": 3, "b": 2}),
        ({"a": 1, "b": 2}, 4, {"a": 1, "b": 3}),
        ({"a": 0.1, "b": 0.9}, 10, {"a": 1, "b": 9}),
    ],
)
def test_shares_by_largest_remainder(weights, count, shares):
    assert exact_shares(weights, count) == shares
