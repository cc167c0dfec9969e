"""Faults of other graders that people reported in public: here the right behaviour is a test.

``test_every_report_is_a_test`` compares the names with the reports' numbers where the
collection is at hand.
"""

from __future__ import annotations

import json
import re
import sys

import pytest
from pydantic import ValidationError

from cascade_rl.engine import Item, RewardEngine
from cascade_rl.errors import DataError
from cascade_rl.sandbox import Outcome, Status
from cascade_rl.types import Completion, Prompt
from cascade_rl_code import Options, reward
from cascade_rl_code.layouts import READERS, BadRow
from cascade_rl_code.loading import load
from cascade_rl_code.plain import equal_json
from cascade_rl_code.programs import judged_by


@pytest.fixture
def judged(sandbox):
    def judged(code, *tests, options=None, **truth):
        ground_truth = {"tests": list(tests), **truth}
        prompt = Prompt.from_text(str(ground_truth), "?", ground_truth=ground_truth)
        completion = Completion(text=code if "```" in code else f"```python\n{code}\n```")
        return reward(prompt, completion, options or Options())

    return judged


def test_02_tolerance_does_not_swallow_integers(judged):
    test = {"stdin": "", "stdout": "1000000007"}
    assert judged("print(1000000008)", test, tolerance=1e-6).score == 0
    assert judged("print(1000000007)", test, tolerance=1e-6).score == 1


def test_04_big_integers_are_printed(judged):
    test = {"stdin": "", "stdout": "1" + "0" * 5000}
    assert judged("print(10**5000)", test).score == 1


def test_05_floats_in_a_returned_list(judged):
    test = {"args": [], "returns": [0.3, 1.0]}
    assert judged("def f(): return [0.1+0.2, 1.0]", test, function="f", tolerance=1e-9).score == 1
    assert judged("def f(): return [0.1+0.2, 1.0]", test, function="f", tolerance=0).score == 0


def test_06_a_task_with_many_right_answers(judged, tmp_path):
    checker = {
        "language": "python",
        "source": "import sys\nn, d = (int(open(p).read()) for p in sys.argv[1:3])\n"
        "sys.exit(0 if d > 1 and n % d == 0 else 1)\n",
    }
    test = {"stdin": "12", "stdout": "2"}
    assert judged("print(6)", test, many_answers=True, checker=checker).score == 1
    assert judged("print(5)", test, many_answers=True, checker=checker).score == 0
    assert judged("print(2)", test, many_answers=True).status == "bad_prompt"
    path = tmp_path / "rows.jsonl"
    text = "Print any divisor of n other than 1."
    path.write_text(json.dumps({"prompt": text, "ground_truth": {"tests": [test]}}))
    with pytest.raises(DataError, match=r"rows.jsonl:1: many answers are right"):
        load("train", Options(source="jsonl", path=path))


def test_07_an_exception_is_no_empty_result(judged):
    code = "def area(r):\n    return {}[r]"
    result = judged(code, {"args": [4], "returns": ""}, function="area")
    assert result.score == 0
    assert result.reason.startswith("RE on test 1 of 1: KeyError")


@pytest.mark.parametrize(("output", "score"), [("", 0), ("5", 0), ("5\n6", 1), ("5\n6\n7", 0)])
def test_08_short_and_long_output(judged, output, score):
    assert judged(f"print({output!r})", {"stdin": "", "stdout": "5\n6"}).score == score


def test_10_tests_run_against_the_answer(judged):
    result = judged("def add(a,b): return a-b", {"assert": "assert add(2,2)==4"})
    assert (result.score, result.reason) == (0, "WA on test 1 of 1: assertion 1 of 1 failed")


def test_12_a_memory_bomb(judged):
    test = {"stdin": "", "stdout": ""}
    for code in ("a=[0]*(10**10)", "a=[]\nwhile True: a.append(bytearray(10**7))"):
        result = judged(code, test, limits={"memory_mb": 256})
        assert result.score == 0
        assert result.reason.startswith("MLE on test 1 of 1")


def test_14_a_crash_takes_nobody_along(sandbox):
    codes = ["print(1)"] * 8
    codes[3] = "import ctypes; ctypes.string_at(0)"
    prompt = Prompt.from_text("p", "?", ground_truth={"tests": [{"stdin": "", "stdout": "1"}]})
    with RewardEngine("code", workers=2) as engine:
        items = [
            Item(prompt=prompt, completion=Completion(text=f"```python\n{code}\n```"))
            for code in codes
        ]
        rewards = [future.result(60) for future in map(engine.submit, items)]
    assert [r.score for r in rewards] == [1, 1, 1, 0, 1, 1, 1, 1]
    assert rewards[3].reason == "RE on test 1 of 1: killed by SIGSEGV"


def test_15_the_corrected_block_counts(judged):
    text = (
        "```python\ndef f(n): return n\n```\nThat misses the square.\n"
        "```python\ndef f(n): return n*n\n```"
    )
    assert judged(text, {"assert": "assert f(3)==9"}).score == 1


def test_16_a_list_of_messages_is_judged_by_its_last(post):
    turns = [
        {"role": "user", "content": "Return 1."},
        {"role": "assistant", "content": "```python\ndef f(): return 1\n```"},
    ]
    truth = {"tests": [{"assert": "assert f()==1"}]}
    reply = post("/evaluate", messages=turns, ground_truth=truth, mode="no_think").json()
    assert (reply["score"], reply["is_score_valid"]) == (1, True)


def test_16_a_list_of_messages_in_the_place_of_a_text_is_no_silent_0():
    messages = [{"role": "assistant", "content": "```python\ndef f(): return 1\n```"}]
    with pytest.raises(ValidationError, match="valid string"):
        Completion(text=messages)
    assert sys.modules["cascade_rl.types"].Message.model_validate(messages[0]).content


@pytest.mark.parametrize("points", ["nan", "inf", "-0.5", "1.5"])
def test_18_impossible_points_are_out_of_range(points):
    outcome = Outcome(Status.RE, exit_code=7, stderr=f"points {points}".encode())
    found = judged_by(outcome, 1.0, "checker")
    assert found.verdict == "JUDGE_FAIL"
    assert "out of range" in found.message


def test_18_possible_points_are_accepted():
    outcome = Outcome(Status.RE, exit_code=7, stderr=b"points 0.5")
    assert judged_by(outcome, 1.0, "checker").points == 0.5


def test_20_the_divisor_is_what_was_declared(judged):
    code = "def check(n):\n    if n == 7: raise RuntimeError('set-up')\n    return n <= 6"
    tests = [{"assert": f"assert check({n})"} for n in range(1, 13)]
    assert judged(code, *tests, options=Options(reward="fraction")).score == 0.5
    assert judged(code, *tests).score == 0


@pytest.mark.parametrize("leave", ["import sys; sys.exit(0)", "import os; os._exit(0)", "exit(0)"])
@pytest.mark.parametrize(
    "tests",
    [
        [{"assert": "assert solve(3)==9"}],
        [{"assert": "for n in [3]:\n    assert solve(n)==9"}],
        [{"args": [3], "returns": 9}],
    ],
)
def test_22_exit_0_is_no_pass(judged, leave, tests):
    result = judged(f"def solve(n):\n    {leave}", *tests, function="solve")
    assert result.score == 0
    assert result.reason.startswith("RE")
    assert judged(leave, *tests, function="solve").score == 0


@pytest.mark.parametrize("base", ["", "(int)", "(list)", "(str)", "(dict)"])
@pytest.mark.parametrize("test", ["assert f()==42", "for x in [42]:\n    assert f()==x"])
def test_23_an_object_that_equals_everything(judged, base, test):
    code = f"class Y{base}:\n    def __eq__(self,o): return True\ndef f(): return Y()"
    assert judged(code, {"assert": test}).score == 0
    assert judged(code, {"args": [], "returns": 42}, function="f").score == 0


def test_24_five_is_five_point_zero(judged):
    test = {"args": [], "returns": 5.0}
    assert judged("def f(): return 5", test, function="f").score == 1
    assert judged("def f(): return 5", {"assert": "assert f() == 5.0"}).score == 1
    # The choice that is documented: True is 1, unless `strict_bool` says otherwise.
    assert equal_json(True, 1) is True
    one = {"args": [], "returns": 1}
    assert judged("def f(): return True", one, function="f", strict_bool=True).score == 0


def test_26_input_is_data(judged, tmp_path):
    hostile = "1); open('/tmp/x','w'); print(1"
    row = {
        "question_content": "x",
        "metadata": '{"func_name": "f"}',
        "public_test_cases": json.dumps(
            [{"input": hostile, "output": "1", "testtype": "functional"}]
        ),
    }
    with pytest.raises(BadRow, match="input is not JSON"):
        READERS["livecodebench"](row, Options())
    echo = {"args": [hostile], "returns": hostile}
    assert judged("def f(x): return x", echo, function="f").score == 1
    assert judged("print(input())", {"stdin": hostile, "stdout": hostile}).score == 1


def test_every_report_is_a_test(shared):
    reports = map(json.loads, (shared / "cases" / "public_reports.jsonl").read_text().splitlines())
    numbers = {
        report["id"].removeprefix("bug-code-") for report in reports if report["area"] == "code"
    }
    tested = {m[1] for name in globals() if (m := re.match(r"test_(\d\d)_", name))}
    assert tested == numbers
