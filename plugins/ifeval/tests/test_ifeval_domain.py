"""The hooks: reward, budget, sampling, examples, and what importing the pack costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import cascade_rl_ifeval
from cascade_rl.errors import BadOptions
from cascade_rl.hooks import DomainSpec
from cascade_rl.registry import Registry
from cascade_rl.types import Completion, LengthBudget, Prompt, SamplingParams, Stage
from cascade_rl_ifeval import (
    Options,
    examples,
    gold_completion,
    length_budget,
    reward,
    sampling_params,
)

DATA = Options(source="ifrl_parquet", path="d.parquet")


def prompt(mode="no_think", **truth):
    label = {
        "instruction_id_list": ["keywords:existence", "punctuation:no_comma"],
        "kwargs": [{"keywords": ["tea"]}, {}],
    }
    return Prompt.from_text("p", "Write about tea.", mode=mode, ground_truth=label | truth)


def test_reward_of_a_reply_that_follows_all():
    result = reward(prompt(), Completion(text="Hot tea."))
    assert (result.score, result.correct, result.status) == (1.0, True, "scored")
    assert result.reason == "all instructions followed"
    assert result.components == {
        "strict": 1.0,
        "loose": 1.0,
        "0:keywords:existence": 1.0,
        "1:punctuation:no_comma": 1.0,
    }


def test_reward_names_what_failed_and_why():
    result = reward(prompt(), Completion(text="Hot, milk\nand so on"))
    assert (result.score, result.correct) == (0.0, False)
    assert result.reason == (
        "not followed: 0:keywords:existence (missing 'tea'), 1:punctuation:no_comma (1 commas)"
    )
    assert result.components["loose"] == 0
    assert result.components["1:punctuation:no_comma"] == 0


def test_loose_is_reported_and_does_not_score():
    result = reward(prompt(), Completion(text="Sure, here:\nHot tea."))
    assert (result.score, result.components["loose"]) == (0.0, 1.0)


@pytest.mark.parametrize("mode", ["think", "no_think", "none"])
def test_the_answer_is_judged_not_the_thoughts(mode):
    assert reward(prompt(mode), Completion(text="<think>a, b</think>\n\nTea")).score == 1
    assert reward(prompt(mode), Completion(text="<think>tea</think>milk")).score == 0


def test_without_closed_thoughts_there_is_no_answer_in_think_mode():
    result = reward(prompt("think"), Completion(text="Hot tea."))
    assert (result.score, result.correct, result.status) == (0.0, False, "scored")
    assert "no </think>" in result.reason
    assert set(result.components.values()) == {0.0}
    assert reward(prompt("no_think"), Completion(text="Hot tea.")).score == 1


def test_a_bad_label_is_unscored_in_every_mode():
    for mode in ("think", "no_think"):
        result = reward(prompt(mode, kwargs=[{}, {}]), Completion(text="Hot tea."))
        assert (result.score, result.correct, result.status) == (None, None, "bad_prompt")
        assert "keywords: Field required" in result.reason


def test_long_words_of_the_reply_do_not_fill_the_reason():
    label = {
        "instruction_id_list": ["length_constraints:nth_paragraph_first_word"],
        "kwargs": [{"num_paragraphs": 1, "nth_paragraph": 1, "first_word": "tea"}],
    }
    result = reward(prompt(**label), Completion(text="x" * 100_000))
    assert result.score == 0
    assert len(result.reason) < 200


def test_length_budget():
    assert length_budget(Options()) == LengthBudget(
        prompt_tokens=64, completion_tokens=48, overlong="zero"
    )
    assert length_budget(DATA) == LengthBudget(
        prompt_tokens=2048, completion_tokens=8192, overlong="zero"
    )
    chosen = Options(prompt_tokens=9, completion_tokens=10, overlong="mask")
    assert length_budget(chosen) == LengthBudget(
        prompt_tokens=9, completion_tokens=10, overlong="mask"
    )


def test_sampling_params():
    assert sampling_params(Options()) == SamplingParams(temperature=1.0, n=8)
    assert sampling_params(DATA) == SamplingParams(temperature=0.6, top_p=0.95, top_k=20, n=8)


def test_there_is_no_gold_for_real_prompts():
    assert gold_completion(prompt()) is None


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_examples_get_their_reward(example):
    result = reward(example.prompt, example.completion)
    assert result.score == example.expected
    assert result.reason


def test_examples_are_enough_and_of_every_kind():
    shown = list(examples())
    assert len(shown) >= 12
    assert {example.kind for example in shown} == {"right", "wrong", "hostile"}
    assert len({example.name for example in shown}) == len(shown)


def test_importing_the_pack_imports_nothing_heavy():
    code = (
        "import json, sys; import cascade_rl_ifeval; "
        "print(json.dumps([m for m in ('langdetect', 'pyarrow', 'datasets', 'numpy', 'torch', "
        "'nltk') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout) == []


def test_no_module_has_the_name_of_a_hook():
    # Importing such a module would put it in the place of the hook's function.
    modules = {path.stem for path in Path(cascade_rl_ifeval.__file__).parent.iterdir()}
    assert modules.isdisjoint(name for name in dir(DomainSpec) if not name.startswith("_"))


def test_the_pack_loads_by_its_name():
    domain = Registry().open("ifeval", {"count": 2})
    stage = Stage(name="if", kind="grpo", index=0)
    assert domain.length_budget(stage).completion_tokens == 48
    assert domain.sampling_params(stage, "no_think").n == 8
    (first, _) = domain.load_prompts("train")
    assert domain.load_demonstrations("train")[0].id == first.id
    assert len(domain.examples()) == len(list(examples()))
    domain.open()
    result = domain.reward(first, Completion(text=domain.gold_completion(first)), None)
    assert result.score == 1
    with pytest.raises(BadOptions, match="sead"):
        Registry().open("ifeval", {"sead": 1})
