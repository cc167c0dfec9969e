"""The built-in prompts and demonstrations."""

from __future__ import annotations

import hashlib
import itertools

import pytest

from cascade_rl.types import Completion, Demonstration
from cascade_rl_ifeval import Options, gold_completion, load_demonstrations, load_prompts, reward
from cascade_rl_ifeval.generate import Task, tasks
from cascade_rl_ifeval.vocabulary import WORDS

SPLITS = ("train", "eval")


@pytest.fixture(scope="module")
def prompts():
    return {split: list(load_prompts(split, Options())) for split in SPLITS}


def test_enough_distinct_prompts_in_two_disjoint_splits(prompts):
    ids = {split: {prompt.id for prompt in prompts[split]} for split in SPLITS}
    texts = {prompt.text for split in SPLITS for prompt in prompts[split]}
    assert (len(ids["train"]), len(ids["eval"])) == (3402, 822)
    assert len(texts) == 3402 + 822
    assert ids["train"].isdisjoint(ids["eval"])


def test_prompts_are_short_ascii_and_no_think(prompts):
    for prompt in [*prompts["train"], *prompts["eval"]]:
        gold = gold_completion(prompt)
        assert prompt.text.isascii()
        assert gold.isascii()
        assert len(prompt.text) <= 30
        assert len(gold) <= 40
        assert prompt.mode == "no_think"


def test_ids_and_splits_never_change(prompts):
    known = Task("sun", 3, upper=True, quoted=False)
    assert (known.id, known.text, known.reply) == (
        "ifeval-upper-sun-3", "Upper sun 3 times", "SUN SUN SUN",
    )  # fmt: skip
    ids = "\n".join(sorted(prompt.id for prompt in prompts["eval"]))
    assert hashlib.sha256(ids.encode()).hexdigest()[:16] == "6fc8e93a0c72c6ca"


def test_every_gold_completion_gets_full_reward(prompts):
    for prompt in [*prompts["train"], *prompts["eval"]]:
        assert reward(prompt, Completion(text=gold_completion(prompt))).score == 1


def test_the_gold_of_a_prompt_turned_to_thinking(prompts):
    prompt = prompts["train"][0].model_copy(update={"mode": "think"})
    gold = gold_completion(prompt)
    assert reward(prompt, Completion(text=gold)).score == 1
    assert gold.startswith("<think>\n</think>\n")


def test_every_wrong_reply_of_a_task_is_wrong():
    for split in SPLITS:
        pairs = zip(tasks(split, Options()), load_prompts(split, Options()), strict=True)
        for task, prompt in itertools.islice(pairs, 600):
            for text in task.wrong_replies():
                assert len(text) <= 40
                assert reward(prompt, Completion(text=text)).score == 0, (task, text)


@pytest.mark.parametrize(
    ("noise", "variants"), [(0.3, 1), (0.3, 3), (0.0, 1), (1.0, 1), (0.101, 1)]
)
@pytest.mark.parametrize("split", SPLITS)
def test_the_share_of_wrong_demonstrations_is_as_stated(split, noise, variants):
    options = Options(demonstration_noise=noise, demonstrations=variants, count=300)
    shown = list(load_demonstrations(split, options))
    wrong = [one for one in shown if reward(one, Completion(text=one.completion)).score == 0]
    assert len(shown) == 300 * variants
    assert len(wrong) == int(noise * len(shown))
    assert len({one.id for one in shown}) == len(shown)
    assert all(isinstance(one, Demonstration) and one.mode == "no_think" for one in shown)


def test_wrong_demonstrations_are_of_every_kind():
    shown = list(load_demonstrations("train", Options(demonstration_noise=1.0, count=600)))
    broken = {
        name
        for one in shown
        for name, value in reward(one, Completion(text=one.completion)).components.items()
        if value == 0
    }
    assert broken == {
        "strict",
        "loose",
        "0:length_constraints:number_words",
        "1:length_constraints:number_words",
        "2:keywords:frequency",
        "3:change_case:capital_word_frequency",
        "4:startend:quotation",
    }


def test_seed_orders_and_count_limits():
    first, again, other = (
        [prompt.id for prompt in load_prompts("train", Options(seed=seed, count=50))]
        for seed in (0, 0, 1)
    )
    assert first == again
    assert len(first) == 50
    assert set(first) != set(other)
    noisy = [
        [one.completion for one in load_demonstrations("train", Options(seed=seed))]
        for seed in (0, 0, 1)
    ]
    assert noisy[0] == noisy[1] != noisy[2]


def test_words_are_short_distinct_and_never_one_inside_another():
    assert len(set(WORDS)) == len(WORDS) >= 150
    assert all(word.isascii() and word.islower() and len(word) <= 4 for word in WORDS)
    assert not [(a, b) for a in WORDS for b in WORDS if a != b and a in b]
