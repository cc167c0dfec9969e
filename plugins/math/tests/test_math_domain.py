"""The pack as the registry and the engine see it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cascade_rl.engine import Item, RewardEngine
from cascade_rl.registry import Registry
from cascade_rl.types import Completion, Prompt, Stage
from cascade_rl_math import Options, examples, gold_completion, reward
from cascade_rl_math.example_set import EXAMPLES

HEAVY = ("sympy", "mpmath", "pyarrow", "datasets", "numpy", "torch")


def test_importing_and_scoring_import_nothing_heavy() -> None:
    """sympy lives in the child: not even a symbolic comparison brings it here."""
    code = (
        "import sys, cascade_rl_math as m\n"
        "from cascade_rl.types import Completion, Prompt\n"
        "p = Prompt.from_text('p', '?', ground_truth='x^2-4x')\n"
        "r = m.reward(p, Completion(text='\\\\boxed{x(x-4)}'), m.Options())\n"
        "m.close()\n"
        f"print(r.score, r.reason, [n for n in {HEAVY} if n in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "1.0 equal: symbolic []\n"


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_examples_get_the_reward_they_name(case) -> None:  # type: ignore[no-untyped-def]
    assert reward(case.prompt, case.completion, Options()).score == case.expected


def test_examples_cover_every_kind() -> None:
    assert len(list(examples())) >= 15
    assert {case.kind for case in EXAMPLES} == {"right", "wrong", "hostile"}
    assert len({case.name for case in EXAMPLES}) == len(EXAMPLES)


def judged(gold: object, reply: str, mode: str = "none"):  # type: ignore[no-untyped-def]
    prompt = Prompt.from_text("p", "?", ground_truth=gold, mode=mode)
    return reward(prompt, Completion(text=reply), Options())


def test_the_fields_of_a_reward() -> None:
    right = judged("0.5", r"\boxed{\frac{1}{2}}")
    assert (right.score, right.correct, right.status) == (1.0, True, "scored")
    assert (right.extracted, right.reason) == (r"\frac{1}{2}", "equal: exact number")
    assert right.components == {}
    wrong = judged("0.5", r"\boxed{0.25}")
    assert (wrong.score, wrong.correct) == (0.0, False)
    assert (wrong.extracted, wrong.reason) == ("0.25", "unequal: exact number")
    none = judged("0.5", "no idea")
    assert (none.score, none.extracted) == (0.0, None)
    long = judged("5", "\\boxed{" + "7" * 900 + "}")
    assert long.extracted == "7" * 200
    unread = judged("5", r"\boxed{(7-2)(4-9}")
    assert (unread.score, unread.reason) == (0.0, "unparsed: a bracket never closes")


@pytest.mark.parametrize(
    ("gold", "reason"),
    [
        ("", "the ground truth is empty"),
        ("  ", "the ground truth is empty"),
        ("see the fig", "the ground truth 'see the fig' is prose, not an answer to compare with"),
        ("(7-2", "the ground truth '(7-2' cannot be read: a bracket never closes"),
        (None, "ground_truth is a NoneType; text or a number is read"),
        (True, "ground_truth is a bool; text or a number is read"),
        ([1, 2], "ground_truth is a list; text or a number is read"),
    ],
)  # fmt: skip
def test_a_bad_gold_is_not_scored(gold: object, reason: str) -> None:
    bad = judged(gold, r"\boxed{5}")
    assert (bad.score, bad.status, bad.reason) == (None, "bad_prompt", reason)


def test_no_answer_is_wrong_even_where_the_gold_is_empty() -> None:
    assert judged("", "no tags here").score == 0.0


@pytest.mark.parametrize("gold", [5, 5.0, "5", r"$\boxed{5}$", r"So it is \boxed{5}."])
def test_golds_may_be_numbers_or_hold_a_box(gold: object) -> None:
    assert judged(gold, r"\boxed{5}").score == 1.0


def test_a_gold_completion_that_cannot_be_boxed_is_none() -> None:
    assert gold_completion(Prompt.from_text("p", "?", ground_truth="{")) is None


def test_defaults_of_real_data_follow_the_recipe() -> None:
    domain = Registry().open("math", {"source": "gsm8k", "path": "train.jsonl"})
    stage = Stage(name="math", kind="grpo", index=3)
    budget = domain.length_budget(stage)
    assert (budget.completion_tokens, budget.overlong) == (24 * 1024, "mask")
    sampling = domain.sampling_params(stage, "think")
    assert (sampling.temperature, sampling.top_p, sampling.n) == (1.0, 0.95, 8)


def test_the_registry_and_the_engine_run_the_pack() -> None:
    domain = Registry().open("math")
    assert domain.hooks == {
        "load_prompts", "load_demonstrations", "reward", "length_budget", "sampling_params",
        "gold_completion", "examples", "open", "close",
    }  # fmt: skip
    prompts = domain.load_prompts("eval")[:20]
    texts = [domain.gold_completion(prompt) or "" for prompt in prompts]
    with RewardEngine("math", workers=1) as engine:
        items = [Item(prompt=p, completion=Completion(text=t))
                 for p, t in zip(prompts, texts, strict=True)]  # fmt: skip
        rewards = [future.result(60) for future in map(engine.submit, items)]
    assert [reward.score for reward in rewards] == [1.0] * 20
