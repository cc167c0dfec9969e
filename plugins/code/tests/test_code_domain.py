"""The pack as the registry and the engine see it."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

import cascade_rl_code
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.hooks import DomainSpec
from cascade_rl.registry import Registry
from cascade_rl.types import Completion, Prompt, Stage
from cascade_rl_code import Options, examples, gold_completion, load_prompts, reward
from cascade_rl_code.example_set import EXAMPLES
from cascade_rl_code.scoring import assemble

SUM = {
    "language": "python",
    "tests": [{"stdin": "1 2", "stdout": "3"}, {"stdin": "5 5", "stdout": "10"}],
}


COUNTER = itertools.count()


def judged(code, truth=SUM, mode="none", before="", text="Add.", **options):
    prompt = Prompt.from_text(f"p{next(COUNTER)}", text, ground_truth=truth, mode=mode)
    completion = Completion(text=f"{before}```python\n{code}\n```")
    return reward(prompt, completion, Options(**options))


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_examples_get_the_reward_they_name(sandbox, case):
    result = reward(case.prompt, case.completion, Options())
    assert result.score == case.expected
    assert result.reason


def test_examples_cover_every_kind():
    assert len(list(examples())) >= 30
    assert {case.kind for case in EXAMPLES} == {"right", "wrong", "hostile"}
    assert len({case.name for case in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("prompt", load_prompts("train", Options()), ids=lambda prompt: prompt.id)
def test_reference_solutions_of_the_builtin_problems_pass(sandbox, prompt):
    result = reward(prompt, Completion(text=gold_completion(prompt)), Options())
    assert (result.score, result.reason) == (1.0, f"AC: {result.components['tests']:.0f} tests")
    wrong = reward(prompt, Completion(text="<think></think>```python\nprint(0)\n```"), Options())
    assert (wrong.score, wrong.status) == (0.0, "scored")


def test_builtin_problems_cover_every_kind_of_test():
    truths = [prompt.ground_truth for prompt in load_prompts("train", Options())]
    assert len(truths) == 24
    kinds = {key for truth in truths for key in truth} | {k for t in truths for k in t["tests"][0]}
    assert kinds >= {"stdin", "args", "assert", "checker", "interactor", "subtasks", "tolerance"}
    assert min(len(truth["tests"]) for truth in truths) >= 2


def test_the_fields_of_a_reward(sandbox):
    right = judged("print(sum(map(int, input().split())))")
    assert (right.score, right.correct, right.status) == (1.0, True, "scored")
    assert right.reason == "AC: 2 tests"
    assert right.extracted == "print(sum(map(int, input().split())))\n"
    assert right.components == {"tests": 2}
    wrong = judged("print(3)", truth=SUM | {"tests": SUM["tests"] * 2})
    assert (wrong.score, wrong.correct, wrong.reason) == (
        0.0, False, "WA on test 2 of 4: token 1 differs",
    )  # fmt: skip
    assert judged("print(", truth=SUM).reason.startswith("CE: SyntaxError")
    none = reward(Prompt.from_text("p", "?", ground_truth=SUM), Completion(text="3"), Options())
    assert (none.score, none.extracted, none.reason) == (0.0, None, "no answer: no code block")


def test_the_fraction(sandbox):
    result = judged("print(3)", reward="fraction")
    assert (result.score, result.correct) == (0.5, False)
    assert result.components == {"tests": 2, "passed": 1}
    points = [{"points": 90, "tests": [0]}, {"points": 10, "tests": [0, 1]}]
    result = judged("print(3)", truth=SUM | {"subtasks": points}, reward="fraction")
    assert result.score == 0.9
    assert (result.components["subtask 1"], result.components["subtask 2"]) == (90, 0)


@pytest.mark.parametrize(
    ("before", "text", "mixing", "score"),
    [
        ("<think>\u6211\u4eec</think>", "Add.", "zero", 0.0),
        ("<think></think>\u0441\u0443\u043c\u043c\u0430\n", "Add.", "zero", 0.0),
        ("<think>\u6211\u4eec</think>", "Add.", "ignore", 1.0),
        ("<think>\u6211\u4eec</think>", "\u6c42\u548c", "zero", 1.0),
        ("<think>na\u00efve \u03b1 + \u03b2 \u2264 \u221e</think>", "Add.", "zero", 1.0),
    ],
)
def test_language_mixing(sandbox, before, text, mixing, score):
    code = "print(sum(map(int, input().split())))"
    result = judged(code, before=before, text=text, language_mixing=mixing)
    assert (result.score, result.correct) == (score, True)
    assert result.reason.startswith("language mixing") == (score == 0)


@pytest.mark.parametrize(
    ("truth", "reason"),
    [
        (None, "ground_truth is a NoneType; an object with language and tests is read"),
        ({"language": "python"}, "ground_truth.tests: Field required"),
        ({"language": "python", "tests": []}, "ground_truth: there are no tests"),
        ({"language": "python", "tests": [{"stdin": 5}]},
         "ground_truth.tests[0].stdin: Input should be a valid string, got 5"),
        ({"tests": [{"assert": "assert f("}]}, "ground_truth.tests: the test is no Python program"),
    ],
)  # fmt: skip
def test_a_bad_ground_truth_is_not_scored(sandbox, truth, reason):
    result = judged("print(1)", truth=truth)
    assert (result.score, result.status, result.reason) == (None, "bad_prompt", reason)


def test_a_jurys_fault_is_not_scored(sandbox):
    checker = {"language": "python", "source": "import sys\nsys.exit(3)"}
    result = judged("print(3)", truth=SUM | {"checker": checker})
    assert (result.score, result.status) == (None, "error")
    assert result.reason == "JUDGE_FAIL on test 1 of 2: checker:"


def test_a_language_that_is_not_installed_is_not_scored(sandbox):
    missing = {"rust", "go", "java", "javascript"} - set(sandbox.languages())
    if not missing:
        pytest.skip("every language is installed here")
    language = sorted(missing)[0]
    prompt = Prompt.from_text("p", "?", ground_truth=SUM | {"language": language})
    result = reward(prompt, Completion(text=f"```{language}\nx\n```"), Options())
    assert (result.score, result.status) == (None, "error")
    assert language in result.reason.lower()


def test_a_prelude_stands_before_the_answer_and_after_its_future(sandbox):
    code = "from __future__ import annotations\ndef f(x: Unknown): return helper(x)"
    assert assemble("A = 1", code).startswith("from __future__ import annotations\nA = 1\n")
    truth = {
        "prelude": "def helper(x): return x + 1",
        "tests": [{"assert": "assert f(1) == 2"}, {"assert": "assert f(2) == helper(2)"}],
    }
    assert judged(code, truth=truth).score == 1


def test_importing_the_pack_imports_nothing_heavy():
    code = (
        "import json, sys; import cascade_rl_code; "
        "print(json.dumps([m for m in ('pyarrow', 'datasets', 'numpy', 'torch', 'docker', "
        "'httpx') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout) == []


def test_no_module_has_the_name_of_a_hook():
    # Importing such a module would put it in the place of the hook's function.
    modules = {path.stem for path in Path(cascade_rl_code.__file__).parent.iterdir()}
    assert modules.isdisjoint(name for name in dir(DomainSpec) if not name.startswith("_"))


def test_defaults_follow_the_recipe():
    domain = Registry().open("code", {"source": "apps", "path": "train.jsonl"})
    stage = Stage(name="code", kind="grpo", index=4)
    budget = domain.length_budget(stage)
    assert (budget.completion_tokens, budget.overlong) == (44 * 1024, "zero")
    sampling = domain.sampling_params(stage, "think")
    assert (sampling.temperature, sampling.top_p, sampling.n) == (1.0, 0.95, 8)


def test_the_engine_runs_the_pack(sandbox):
    domain = Registry().open("code")
    assert domain.hooks == {
        "load_prompts", "load_demonstrations", "reward", "length_budget", "sampling_params",
        "gold_completion", "examples", "open", "close",
    }  # fmt: skip
    prompts = domain.load_prompts("train")[:6]
    crash = "<think></think>```python\nimport ctypes; ctypes.string_at(0)\n```"
    texts = [domain.gold_completion(prompt) or "" for prompt in prompts]
    texts[3] = crash
    with RewardEngine("code", workers=1) as engine:
        items = [Item(prompt=p, completion=Completion(text=t))
                 for p, t in zip(prompts, texts, strict=True)]  # fmt: skip
        rewards = [future.result(60) for future in map(engine.submit, items)]
    assert [reward.score for reward in rewards] == [1, 1, 1, 0, 1, 1]
    assert rewards[3].reason.startswith("RE on test 1 of")
