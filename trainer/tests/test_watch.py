"""The watch stops a stage that goes unscored, and says what would ruin one quietly."""

from __future__ import annotations

import pytest

from cascade_rl import Completion, Prompt, Reward
from cascade_rl.config.schema import StageConfig
from cascade_rl.errors import RunError
from cascade_rl_trainer.local.rollout import Group, Rollout
from cascade_rl_trainer.local.watch import Watch

RIGHT = Reward.verdict(True)
LOST = Reward.unscored("timeout", "no verdict within 5 s")


def group(rewards):
    samples = [Rollout([1], Completion(text="x"), r) for r in rewards]
    return Group(Prompt.from_text("p", "?"), [1], samples)


def watch(**fields):
    return Watch(StageConfig(name="rl", domain="echo", steps=9, **fields))


def test_two_percent_of_the_last_thousand_may_go_unscored():
    w = watch()
    for _ in range(50):
        w.step([group([LOST] + [RIGHT] * 49)], trained=True)
    assert w.state()["unscored"].count("timeout") == 20


def test_more_stops_the_stage_with_numbers_and_the_reason():
    w = watch()
    for _ in range(19):
        w.step([group([LOST] + [RIGHT] * 39)], trained=True)
    with pytest.raises(RunError) as caught:
        w.step([group([LOST] + [RIGHT] * 39)], trained=True)
    assert (
        "stage 'rl': 20 of the last 800 samples were not scored (20 timeout); at most 2% may. "
        "The last reason: no verdict within 5 s. They were left out of the training, not scored 0."
    ) in str(caught.value)


def test_fewer_than_twenty_never_stop_it():
    w = watch()
    w.step([group([LOST] * 19 + [RIGHT])], trained=True)
    assert w.warnings == ()


def test_the_window_forgets_old_samples():
    w = watch()
    w.step([group([LOST] * 19 + [RIGHT])], trained=True)
    for _ in range(25):
        w.step([group([RIGHT] * 40)], trained=True)
    w.step([group([LOST] * 19 + [RIGHT] * 21)], trained=True)
    assert w.state()["unscored"].count("timeout") == 19


def test_steps_without_signal_are_said_once():
    w = watch()
    for _ in range(45):
        w.step([group([RIGHT, RIGHT])], trained=False)
    assert w.untold() == ["20 steps in a row had no signal: every group's rewards equal"]
    assert w.untold() == []


def test_a_truncated_first_batch_is_said():
    w = watch()
    cut = RIGHT.model_copy(update={"truncated": True})
    w.step([group([cut] * 19 + [RIGHT])], trained=True)
    assert w.untold() == [
        "95% of the first batch was truncated: budget.completion_tokens is too short for this "
        "model; raise it"
    ]


def test_a_restored_watch_goes_on_where_it_was():
    w = watch()
    for _ in range(19):
        w.step([group([LOST] + [RIGHT] * 39)], trained=False)
    again = watch()
    again.load_state(w.state())
    assert again.untold() == []
    with pytest.raises(RunError, match="20 of the last 800"):
        again.step([group([LOST] + [RIGHT] * 39)], trained=False)
