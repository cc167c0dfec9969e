"""Answers judged in the real sandbox: every kind of test and every verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cascade_rl.sandbox import Outcome, Status
from cascade_rl_code.judging import Policy, Task, judge, limits_of
from cascade_rl_code.layouts.contests import LEETCODE
from cascade_rl_code.order import FailureOrder
from cascade_rl_code.scoring import assemble
from cascade_rl_code.truth import read_truth


def judged(sandbox, source, order=None, early=True, language="python", total_cpu_s=20.0, **truth):
    read = read_truth({"language": language, **truth})
    policy = Policy(
        limits=limits_of(read, 1.0, 256), stop_early=early, total_cpu_s=total_cpu_s, tolerance=1e-6
    )
    return judge(Task(sandbox, read, source, language, policy), order)


def verdicts(*args, **kwargs):
    return [result.verdict.value for result in judged(*args, **kwargs).results]


SUMS = [{"stdin": f"{a} {b}\n", "stdout": f"{a + b}\n"} for a, b in ((1, 2), (3, 4), (0, 0))]
QUICK = {"cpu_s": 0.5, "wall_s": 1, "memory_mb": 128, "output_kb": 64}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("a, b = map(int, input().split())\nprint(a + b)", ["AC", "AC", "AC"]),
        ("import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))", ["AC", "AC", "AC"]),
        ("import os\nprint(sum(map(int, os.read(0, 99).split())))", ["AC", "AC", "AC"]),
        ("print(3)", ["AC", "WA", "SKIPPED"]),
        ("print(3, file=__import__('sys').stderr)", ["WA", "SKIPPED", "SKIPPED"]),
        ("1 / 0", ["RE", "SKIPPED", "SKIPPED"]),
        ("print(3)\nexit(1)", ["RE", "SKIPPED", "SKIPPED"]),
        ("print(3)\nexit(0)", ["AC", "WA", "SKIPPED"]),
        ("print(", ["CE", "SKIPPED", "SKIPPED"]),
        ("while True: pass", ["TLE", "SKIPPED", "SKIPPED"]),
        ("import time\ntime.sleep(9)", ["ILE", "SKIPPED", "SKIPPED"]),
        ("x = bytearray(10 ** 9)\nprint(3)", ["MLE", "SKIPPED", "SKIPPED"]),
        ("while True: print('x' * 99)", ["OLE", "SKIPPED", "SKIPPED"]),
        ("import ctypes\nctypes.string_at(0)", ["RE", "SKIPPED", "SKIPPED"]),
    ],
)
def test_programs(sandbox, source, wanted):
    assert verdicts(sandbox, source, tests=SUMS, limits=QUICK) == wanted


def test_without_early_stop_every_test_is_run(sandbox):
    source = "a, b = map(int, input().split())\nprint(a + b if a else 1 / a)"
    found = judged(sandbox, source, early=False, tests=SUMS[::-1])
    assert [r.verdict for r in found.results] == ["RE", "AC", "AC"]
    assert (found.accepted, found.fraction, found.passed) == (False, pytest.approx(2 / 3), 2)
    assert found.failure.index == 0
    assert verdicts(sandbox, "print(", early=False, tests=SUMS) == ["CE", "SKIPPED", "SKIPPED"]


def test_the_tests_run_in_the_order_given(sandbox):
    assert verdicts(sandbox, "print(3)", order=[1, 0, 2], tests=SUMS) == [
        "SKIPPED", "WA", "SKIPPED",
    ]  # fmt: skip


def test_a_test_that_failed_is_run_first_next_time(sandbox):
    failures = FailureOrder(size=2)
    assert failures.order("p", 3) == [0, 1, 2]
    failures.learn("p", judged(sandbox, "print(7)", order=[1, 2, 0], tests=SUMS))
    assert failures.order("p", 3) == [2, 0, 1]
    failures.learn("q", judged(sandbox, "print(", tests=SUMS))
    failures.learn("r", judged(sandbox, "print(3)", tests=SUMS))
    failures.learn("s", judged(sandbox, "print(3)", tests=SUMS))
    assert failures.order("p", 3) == [0, 1, 2]  # forgotten
    assert failures.order("q", 3) == [0, 1, 2]  # a compile error says nothing about tests


def test_an_answer_that_is_dear_altogether_is_wrong(sandbox):
    source = (
        "import time\nwhile time.process_time() < 0.2: pass\nprint(sum(map(int, input().split())))"
    )
    found = judged(sandbox, source, total_cpu_s=0.3, tests=SUMS)
    assert [r.verdict.value for r in found.results] == ["AC", "AC", "TLE"]
    assert found.results[2].message.startswith("too_expensive")


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("def f(a, b=0): return a + b", "AC"),
        ("class Solution:\n    def f(self, a, b=0): return a + b", "AC"),
        ("def f(a, b=0):\n    print('noise')\n    return a + b", "AC"),
        ("def f(a, b=0): return float(a + b)", "AC"),
        ("def f(a, b=0): return a - b", "WA"),
        ("def f(a, b=0): print(a + b)", "WA"),
        ("def f(a, b=0): return str(a + b)", "WA"),
        ("def f(a, b=0): return object()", "WA"),
        ("def f(a, b=0): raise KeyError", "RE"),
        ("def f(a, b=0): import os; os._exit(0)", "RE"),
        ("def f(a, b=0): exit(0)", "RE"),
        ("def g(a, b=0): return a + b", "RE"),
        ("def f(a, b=0: return", "CE"),
        ("def f(a, b=0):\n    while True: pass", "TLE"),
        ("class E(int):\n    def __eq__(s, o): return True\ndef f(a, b=0): return E()", "WA"),
    ],
)
def test_function_calls(sandbox, source, wanted):
    tests = [{"args": [1, 2], "returns": 3}, {"args": [4], "kwargs": {"b": 5}, "returns": 9}]
    found = judged(sandbox, source, function="f", tests=tests, limits=QUICK)
    failure = found.failure
    assert (failure.verdict.value if failure else "AC") == wanted


def test_functions_that_change_their_arguments(sandbox):
    tests = [{"args": [[3, 1, 2]], "args_after": [[1, 2, 3]]}]
    assert verdicts(sandbox, "def f(x): x.sort()", function="f", tests=tests) == ["AC"]
    assert verdicts(sandbox, "def f(x): return sorted(x)", function="f", tests=tests) == ["WA"]


COLLECTED = [{"assert": "assert f(1) == [1]"}, {"assert": "x = 2\nassert f(x) == [1, 2]"}]
EXAMINED = [{"assert": "for n in range(4):\n    assert f(n) == list(range(1, n + 1))"}]


@pytest.mark.parametrize("tests", [COLLECTED, EXAMINED, COLLECTED + EXAMINED])
@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("def f(n): return list(range(1, n + 1))", "AC"),
        ("class L(list): pass\ndef f(n): return L(range(1, n + 1))", "AC"),
        ("def f(n): return [1]", "WA"),
        ("def f(n): return tuple(range(1, n + 1))", "WA"),
        ("def f(n): return n.x", "RE"),
        ("def f(n): import os; os._exit(0)", "RE"),
        ("import os\nos._exit(0)", "RE"),
        ("def f(", "CE"),
        ("def f(n):\n    while True: pass", "TLE"),
        ("def f(n): return bytearray(10 ** 9)", "MLE"),
        ("class E(list):\n    def __eq__(s, o): return True\ndef f(n): return E()", "WA"),
        ("class E:\n    def __eq__(s, o): return True\ndef f(n): return E()", "fails"),
        ("import builtins\nbuiltins.all = builtins.any = lambda x: True\ndef f(n): return 0", "WA"),
        (
            "def f(n): return 0\ndef _cascade_collect(stop): return [[[[1]], ''], [[[1, 2]], '']]",
            "WA",
        ),
        ("import sys\ndef f(n): sys._getframe(1).f_locals.clear(); return 0", "WA"),
    ],
)
def test_asserts(sandbox, source, wanted, tests):
    found = judged(sandbox, source, tests=tests, limits=QUICK)
    failure = found.failure
    verdict = failure.verdict.value if failure else "AC"
    assert verdict == wanted or (wanted == "fails" and verdict in ("WA", "RE"))


def test_state_lives_through_the_asserts_of_one_answer(sandbox):
    # As in plain execution: a mutable default spoils the second call.
    source = "def f(n, seen=[]):\n    seen.append(n)\n    return seen"
    tests = [{"assert": "assert f(1) == [1]\nassert f(2) == [2]"}]
    assert verdicts(sandbox, source, tests=tests) == ["WA"]
    # And an object that was returned is seen as it was then.
    tests = [{"assert": "assert f(1) == [1]\nassert f(2) == [1, 2]"}]
    assert verdicts(sandbox, source, tests=tests) == ["AC"]


def test_the_divisor_is_the_declared_number_of_tests(sandbox):
    source = "def f(n):\n    if n > 6: raise RuntimeError\n    return n"
    tests = [{"assert": f"assert f({n}) == {n}"} for n in range(1, 13)]
    assert judged(sandbox, source, early=False, tests=tests).fraction == 0.5
    whole = [{"assert": "\n".join(test["assert"] for test in tests)}]
    assert judged(sandbox, source, early=False, tests=whole).fraction == 0.5
    killed = "import os\ndef f(n):\n    if n > 6: os._exit(0)\n    return n"
    assert judged(sandbox, killed, early=False, tests=tests).fraction == 0.5


def test_one_value_that_is_no_data_spoils_only_its_own_test(sandbox):
    source = "def f(n): return object() if n == 2 else n"
    tests = [{"assert": f"assert f({n}) == {n}"} for n in range(4)]
    assert verdicts(sandbox, source, tests=tests) == ["AC", "AC", "WA", "SKIPPED"]
    assert verdicts(sandbox, source, early=False, tests=tests) == ["AC", "AC", "WA", "AC"]


def test_limits_come_from_the_ground_truth_first():
    truth = read_truth({"tests": SUMS, "limits": {"cpu_s": 7, "memory_mb": 99}})
    limits = limits_of(truth, 2.0, 512)
    assert (limits.cpu_s, limits.memory_mb, limits.wall_s) == (7, 99, 21)
    limits = limits_of(read_truth({"tests": SUMS}), 2.0, 512)
    assert (limits.cpu_s, limits.memory_mb, limits.wall_s) == (2, 512, 10)


def test_big_integers_are_printed(sandbox):
    tests = [{"stdin": "", "stdout": "1" + "0" * 5000 + "\n"}]
    assert verdicts(sandbox, "print(10 ** 5000)", tests=tests) == ["AC"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("while True: pass", "more than 0.5 s of CPU time"),
        ("import time\ntime.sleep(9)", "idle for more than 1 s"),
        ("x = bytearray(10 ** 9)", "more than 128 MiB"),
        ("while True: print('x' * 99)", "more than 64 KiB of output"),
        ("raise KeyError(5)", "KeyError: 5"),
    ],
)
def test_messages_are_the_same_every_time(sandbox, source, message):
    assert judged(sandbox, source, tests=SUMS, limits=QUICK).failure.message == message


def test_leetcode_answers_find_what_leetcode_has(sandbox):
    source = (
        "class Solution:\n    def f(self, nums: List[int], k: Optional[int] = None) -> int:\n"
        "        heap = nums[:]; heapify(heap); d = defaultdict(int); node = ListNode(1)\n"
        "        return pow(3, 4, 5) + gcd(4, 6) + heappop(heap) + d[0] + node.val\n"
    )
    tests = [{"args": [[7, 5]], "returns": 9}]
    assert verdicts(sandbox, assemble(LEETCODE, source), function="f", tests=tests) == ["AC"]


def test_cpp(sandbox, cpp):
    source = "#include <iostream>\nint main(){int a,b;std::cin>>a>>b;std::cout<<a+b;}"
    assert verdicts(sandbox, source, language=cpp, tests=SUMS) == ["AC", "AC", "AC"]
    assert verdicts(sandbox, "int main(){", language=cpp, tests=SUMS)[0] == "CE"
    crash = "int main(){volatile int*p=0;*p=1;}"
    assert verdicts(sandbox, crash, language=cpp, tests=SUMS)[0] == "RE"


@dataclass
class Broken:
    """A sandbox whose every run is a fault of the machine."""

    outcome: Outcome = field(default_factory=lambda: Outcome(Status.INFRA, message="no worker"))

    def run(self, *_):
        yield self.outcome


@pytest.mark.parametrize("tests", [SUMS, COLLECTED])
def test_a_fault_of_the_sandbox_is_no_verdict(tests):
    found = judged(Broken(), "print(3)", tests=tests)
    assert found.fault.verdict == "INFRA"
    assert not found.accepted
