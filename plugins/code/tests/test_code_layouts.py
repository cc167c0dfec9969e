"""Rows of public data sets, in our own words, to problems."""

from __future__ import annotations

import base64
import json
import pickle
import zlib

import pytest

from cascade_rl_code import Options
from cascade_rl_code.layouts import READERS, BadRow
from cascade_rl_code.layouts.livecodebench import pickle_text, unpacked
from cascade_rl_code.truth import GroundTruth

OPTIONS = Options()


def read(source, row, **options):
    problem = READERS[source](row, OPTIONS.model_copy(update=options))
    GroundTruth.model_validate(problem.truth)
    return problem


def packed(value) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


HUMANEVAL = {
    "task_id": "HumanEval/999",
    "prompt": (
        "import math\n\ndef half(x):\n    return x / 2\n\n"
        'def quarter(x: float) -> float:\n    """ A fourth. """\n'
    ),
    "entry_point": "quarter",
    "canonical_solution": "    return half(half(x))\n",
    "test": "def check(candidate):\n    assert candidate(8) == 2\n",
}


def test_humaneval():
    problem = read("humaneval", HUMANEVAL)
    assert problem.id == "HumanEval/999"
    assert problem.truth["function"] == "quarter"
    assert problem.truth["prelude"] == "import math\ndef half(x):\n    return x / 2"
    assert problem.solutions[0].endswith('""" A fourth. """\n    return half(half(x))\n')
    assert "def quarter" in problem.text


@pytest.mark.parametrize("name", ["text", "prompt"])
def test_mbpp(name):
    row = {
        name: "Write add.",
        "task_id": 7,
        "test_list": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"],
        "challenge_test_list": ["assert add(-1, 1) == 0"],
        "test_setup_code": "X = 1",
        "test_imports": ["import math"],
        "code": "def add(a, b): return a + b",
    }
    problem = read("mbpp", row)
    assert [test["assert"] for test in problem.truth["tests"]] == [
        "assert add(1, 2) == 3", "assert add(0, 0) == 0", "assert add(-1, 1) == 0",
    ]  # fmt: skip
    assert problem.truth["prelude"] == "X = 1\nimport math"
    assert problem.text == "Write add.\n\nYour code should pass this test:\n\nassert add(1, 2) == 3"
    assert (problem.id, problem.solutions) == ("MBPP/7", ("def add(a, b): return a + b",))


def test_acecode_and_leetcode():
    row = {"question": "Write f.", "test_cases": ["assert f(1) == 1"]}
    assert read("acecode", row).truth["tests"] == [{"assert": "assert f(1) == 1"}]
    row = {"prompt": "class Solution: ...", "tests": "s = Solution()\nassert s.f(1) == 1"}
    truth = read("leetcode", row).truth
    assert truth["tests"] == [{"assert": row["tests"]}]
    assert "class ListNode" in truth["prelude"]


def test_apps_and_taco():
    row = {
        "question": "Add.",
        "input_output": json.dumps({"inputs": ["1 2\n", ["3 4", "5"]], "outputs": ["3\n", 12]}),
        "solutions": json.dumps(["print(3)", ""]),
        "time_limit": "2.0 seconds",
        "memory_limit": "512.0 megabytes",
    }
    problem = read("taco", row)
    assert problem.truth["tests"] == [
        {"stdin": "1 2\n", "stdout": "3\n"}, {"stdin": "3 4\n5", "stdout": "12"},
    ]  # fmt: skip
    assert problem.truth["limits"] == {"cpu_s": 6.0, "memory_mb": 512}
    assert problem.solutions == ("print(3)",)
    cpp = read("taco", row, language="cpp")
    assert (cpp.truth["language"], cpp.truth["limits"]["cpu_s"]) == ("cpp", 2.0)


@pytest.mark.parametrize(
    ("outputs", "returns"),
    [([[3], [7]], [3, 7]), ([3, 7], [3, 7]), ([[3], [7, 8]], [[3], [7, 8]])],
)
def test_apps_functions(outputs, returns):
    tests = {"fn_name": "f", "inputs": [[1, 2], [3, 4]], "outputs": outputs}
    truth = read("apps", {"question": "f", "input_output": json.dumps(tests)}).truth
    assert (truth["function"], truth["language"]) == ("f", "python")
    assert [test["args"] for test in truth["tests"]] == [[1, 2], [3, 4]]
    assert [test["returns"] for test in truth["tests"]] == returns


def test_code_contests():
    row = {
        "description": "Add.",
        "public_tests": {"input": ["1 2"], "output": ["3"]},
        "private_tests": {"input": ["2 2"], "output": ["4"]},
        "generated_tests": {"input": [], "output": []},
        "time_limit": {"seconds": 1, "nanos": 500_000_000},
        "memory_limit_bytes": 2**28,
        "solutions": {"language": [2, 3], "solution": ["int main(){}", "print(3)"]},
        "input_file": "",
    }
    problem = read("code_contests", row)
    assert [test["stdout"] for test in problem.truth["tests"]] == ["3", "4"]
    assert problem.truth["limits"] == {"cpu_s": 4.5, "memory_mb": 256}
    assert problem.solutions == ("print(3)",)
    assert read("code_contests", row, language="cpp17").solutions == ("int main(){}",)
    with pytest.raises(BadRow, match="files"):
        read("code_contests", row | {"input_file": "in.txt"})


@pytest.mark.parametrize(
    "tests",
    [
        [["1 2", "3"]],
        json.dumps([["1 2", "3"]]),
        [{"input": "1 2", "output": "3"}],
        [{"input": "1 2", "output": "3", "testtype": "stdin"}],
        {"inputs": ["1 2"], "outputs": ["3"]},
    ],
)
def test_deepcoder_programs(tests):
    truth = read("deepcoder", {"problem": "Add.", "tests": tests}).truth
    assert truth["tests"] == [{"stdin": "1 2", "stdout": "3"}]
    assert "function" not in truth


@pytest.mark.parametrize(
    "tests",
    [
        [{"input": "[1]\n2", "output": "[3]", "testtype": "functional",
          "metadata": {"func_name": "f"}}],
        [{"type": "function_call", "fn_name": "f", "input": [[1], 2], "output": [[3]]}],
        {"fn_name": "f", "inputs": [[[1], 2]], "outputs": [[[3]]]},
    ],
)  # fmt: skip
def test_deepcoder_functions(tests):
    truth = read("deepcoder", {"problem": "Add.", "tests": json.dumps(tests)}).truth
    assert truth["tests"] == [{"args": [[1], 2], "returns": [3]}]
    assert truth["function"] == "f"


def test_primeintellect():
    info = {
        "language": "python",
        "test_cases": [{"type": "stdin_stdout", "input": "1", "output": "2"}],
    }
    row = {"prompt": "Next.", "verification_info": json.dumps(info), "gold_standard_solution": "x"}
    problem = read("deepcoder", row)
    assert problem.truth["tests"] == [{"stdin": "1", "stdout": "2"}]
    assert problem.solutions == ("x",)


LCB = {
    "question_content": "Add.",
    "question_id": "abc_1",
    "platform": "atcoder",
    "difficulty": "easy",
    "starter_code": "",
    "metadata": "{}",
    "public_test_cases": json.dumps([{"input": "1 2", "output": "3", "testtype": "stdin"}]),
}


@pytest.mark.parametrize("pack", [json.dumps, lambda tests: packed(json.dumps(tests))])
def test_livecodebench(pack):
    private = [{"input": "2 2", "output": "4", "testtype": "stdin"}]
    problem = read("livecodebench", LCB | {"private_test_cases": pack(private)})
    assert [test["stdout"] for test in problem.truth["tests"]] == ["3", "4"]
    assert problem.id == "livecodebench-abc_1"
    assert problem.metadata == {"platform": "atcoder", "difficulty": "easy"}


def test_livecodebench_functions():
    tests = [{"input": '[1, 2]\n"a"', "output": "[true]", "testtype": "functional"}]
    row = LCB | {
        "public_test_cases": json.dumps(tests),
        "private_test_cases": packed("[]"),
        "metadata": json.dumps({"func_name": "f"}),
        "starter_code": "class Solution:\n    def f(self, a, b):",
    }
    problem = read("livecodebench", row)
    assert problem.truth["tests"] == [{"args": [[1, 2], "a"], "returns": [True]}]
    assert problem.truth["function"] == "f"
    assert problem.starter.startswith("class Solution")


class Evil:
    def __reduce__(self):
        return (exec, ("raise SystemExit('unpickled')",))


@pytest.mark.parametrize(
    "value", [Evil(), ["a", "b"], [Evil()], {"a": "b"}, b"bytes", 7, None, Options(), print]
)
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_nothing_but_a_text_is_unpickled(value, protocol):
    with pytest.raises(BadRow, match="pickle"):
        pickle_text(pickle.dumps(value, protocol))


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("text", ["", "[]", "äöü\n\\", "x" * 100_000])
def test_a_pickled_text_is_read(text, protocol):
    assert pickle_text(pickle.dumps(text, protocol)) == text == pickle.loads(pickle.dumps(text))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("?", "base64"),
        (base64.b64encode(b"x").decode(), "zlib"),
        (base64.b64encode(zlib.compress(b"garbage")).decode(), "pickle"),
        (base64.b64encode(zlib.compress(pickle.dumps("x")[:-1])).decode(), "pickle"),
        (packed("not json"), "JSON"),
        (packed('{"a": 1}'), "not a list"),
    ],
)
def test_damaged_private_tests_are_named(text, why):
    with pytest.raises(BadRow, match=why):
        read("livecodebench", LCB | {"private_test_cases": text})


def test_a_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr("cascade_rl_code.layouts.livecodebench.MAX_UNPACKED", 1000)
    with pytest.raises(BadRow, match="more than 1000 bytes"):
        unpacked(packed("x" * 5000))


def test_own_layout():
    truth = {"language": "python", "tests": [{"stdin": "1", "stdout": "1"}]}
    problem = read("jsonl", {"id": 5, "prompt": "Echo.", "ground_truth": truth, "solution": "s"})
    assert (problem.id, problem.text, problem.solutions) == ("5", "Echo.", ("s",))
    messages = [{"role": "user", "content": "Echo."}]
    assert read("jsonl", {"messages": messages, "ground_truth": truth}).text == "Echo."
    with pytest.raises(BadRow, match="unknown fields groundtruth"):
        read("jsonl", {"prompt": "Echo.", "groundtruth": truth})
    with pytest.raises(BadRow, match="2 messages"):
        read("jsonl", {"messages": messages * 2, "ground_truth": truth})


@pytest.mark.parametrize(
    ("source", "row", "why"),
    [
        ("humaneval", {"prompt": "def f(x):\n    pass\n"}, "entry_point"),
        ("humaneval", HUMANEVAL | {"prompt": "def f(:"}, "no Python"),
        ("apps", {"question": "x"}, "NoneType"),
        ("apps", {"question": "x", "input_output": "{"}, "not JSON"),
        ("apps", {"question": "x", "input_output": '{"inputs": ["1"], "outputs": []}'}, "1 inputs"),
        ("deepcoder", {"problem": "x", "tests": [{"in": 1}]}, "test 0"),
        ("deepcoder", {"problem": "x", "tests": [{"type": "function_call", "input": [1],
                                                  "output": 1}]}, "its name"),
        ("deepcoder", {"tests": [["1", "2"]]}, "problem or prompt or question"),
        ("livecodebench", {"question_content": "x"}, "no tests"),
        ("jsonl", {"prompt": "x"}, "ground_truth is a NoneType"),
    ],
)  # fmt: skip
def test_bad_rows_say_what_is_wrong(source, row, why):
    with pytest.raises(BadRow, match=why):
        READERS[source](row, OPTIONS)
