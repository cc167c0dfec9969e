"""Checkers and interactors with a source of their own, and subtasks."""

from __future__ import annotations

import pytest

from cascade_rl.sandbox import Outcome, Status
from cascade_rl_code.judging import Policy, Task, judge, limits_of
from cascade_rl_code.programs import judged_by
from cascade_rl_code.truth import read_truth

CHECKER = """
#include "testlib.h"
int main(int argc, char *argv[]) {
    registerTestlibCmd(argc, argv);
    int n = inf.readInt(), best = ans.readInt(), got = ouf.readInt(1, 1000, "divisor");
    if (got == 1 || n % got) quitf(_wa, "%d does not divide %d", got, n);
    if (got == 77) quitp(0.5, "half");
    if (got == 99) quitf(_pc(25), "a quarter");
    if (got > best) quitf(_fail, "better than the jury");
    quitf(_ok, "fine");
}
"""
INTERACTOR = """
#include "testlib.h"
int main(int argc, char *argv[]) {
    registerInteraction(argc, argv);
    int secret = inf.readInt();
    for (int i = 0; i < 10; i++) {
        int guess = ouf.readInt(1, 1000);
        if (guess == secret) { std::cout << "right" << std::endl; tout << i; quitf(_ok, "found"); }
        std::cout << (guess < secret ? "higher" : "lower") << std::endl;
    }
    quitf(_wa, "too many guesses");
}
"""
HALVING = """
low, high = 1, 1000
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    reply = input()
    if reply == 'right': break
    if reply == 'higher': low = middle + 1
    else: high = middle - 1
"""


def judged(sandbox, source, early=True, **truth):
    read = read_truth(truth)
    policy = Policy(limits=limits_of(read, 2.0, 256), stop_early=early)
    return judge(Task(sandbox, read, source, "python", policy))


@pytest.mark.parametrize(
    ("output", "verdict", "score"),
    [
        ("6", "AC", 1), ("12", "AC", 1), ("5", "WA", 0), ("1", "WA", 0), ("x", "PE", 0),
        ("", "PE", 0), ("6 6", "PE", 0), ("06", "PE", 0), ("2000", "WA", 0), ("9" * 5000, "PE", 0),
    ],
)  # fmt: skip
def test_a_testlib_checker(sandbox, cpp, output, verdict, score):
    tests = [{"stdin": "12\n", "stdout": "12\n"}]
    found = judged(sandbox, f"print({output!r})", tests=tests, checker={"source": CHECKER})
    assert [(r.verdict.value, r.score) for r in found.results] == [(verdict, score)]
    assert "12" not in found.results[0].message


@pytest.mark.parametrize(
    ("stdin", "output", "verdict", "score"),
    [("77", 77, "WA", 0.5), ("99", 99, "WA", 0.25), ("990", 330, "JUDGE_FAIL", 0)],
)
def test_points_and_the_jurys_fault(sandbox, cpp, stdin, output, verdict, score):
    tests = [{"stdin": stdin, "stdout": "100"}]
    found = judged(sandbox, f"print({output})", tests=tests, checker={"source": CHECKER})
    assert [(r.verdict.value, r.score) for r in found.results] == [(verdict, score)]
    assert (found.fault is not None) == (verdict == "JUDGE_FAIL")


@pytest.mark.parametrize(
    ("code", "stderr", "verdict", "score"),
    [
        (0, "ok", "AC", 1),
        (1, "wrong answer", "WA", 0),
        (2, "wrong output format", "PE", 0),
        (3, "FAIL", "JUDGE_FAIL", 0),
        (4, "", "PE", 0),
        (8, "unexpected eof", "PE", 0),
        (7, "points 0.5 some", "WA", 0.5),
        (7, "0.5 some", "WA", 0.5),
        (7, "points 1", "AC", 1),
        (7, "points 0", "WA", 0),
        (7, "points nan", "JUDGE_FAIL", 0),
        (7, "points inf", "JUDGE_FAIL", 0),
        (7, "points -0.5", "JUDGE_FAIL", 0),
        (7, "points 1.5", "JUDGE_FAIL", 0),
        (7, "points x", "JUDGE_FAIL", 0),
        (7, "", "JUDGE_FAIL", 0),
        (20, "partially correct (20) hm", "WA", 0.2),
        (1, "partially correct (1) hm", "WA", 0.01),
        (66, "", "WA", 0.5),
        (116, "", "AC", 1),
        (5, "", "JUDGE_FAIL", 0),
        (200, "", "JUDGE_FAIL", 0),
    ],
)
def test_exit_codes(code, stderr, verdict, score):
    outcome = Outcome(Status.RE if code else Status.OK, exit_code=code, stderr=stderr.encode())
    found = judged_by(outcome, 1.0, "checker")
    assert (found.verdict.value, found.points) == (verdict, score)


def test_points_on_another_scale():
    outcome = Outcome(Status.RE, exit_code=7, stderr=b"points 30")
    assert judged_by(outcome, 100.0, "checker").points == 0.3


@pytest.mark.parametrize(
    ("status", "code", "verdict"),
    [("TLE", None, "JUDGE_FAIL"), ("RE", None, "JUDGE_FAIL"), ("CE", None, "JUDGE_FAIL"),
     ("MLE", 0, "JUDGE_FAIL"), ("INFRA", None, "INFRA")],
)  # fmt: skip
def test_a_checker_that_fails_is_no_verdict_on_the_answer(status, code, verdict):
    assert judged_by(Outcome(Status(status), exit_code=code), 1.0, "checker").verdict == verdict


def test_a_checker_that_does_not_compile(sandbox, cpp):
    tests = [{"stdin": "", "stdout": ""}]
    found = judged(sandbox, "print(1)", tests=tests, checker={"source": "int main( {"})
    assert found.fault.verdict == "JUDGE_FAIL"


@pytest.mark.parametrize("language", ["python", "cpp17"])
@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        (HALVING, "AC"),
        ("for n in range(1, 99): print(n, flush=True); input()", "WA"),
        ("print('x', flush=True)\ninput()", "PE"),
        ("1 / 0", "RE"),
        ("print(1)\nprint(2)\ninput(); input(); 1 / 0", "RE"),
        ("input()", "ILE"),
        ("while True: pass", "TLE"),
        ("print(", "CE"),
    ],
)
def test_interactive(sandbox, cpp, language, source, verdict):
    python = (
        "import sys\nsecret = int(open(sys.argv[1]).read())\nfor _ in range(10):\n"
        "    word = sys.stdin.readline().strip()\n    if not word.isdigit(): sys.exit(2)\n"
        "    if int(word) == secret: print('right', flush=True); sys.exit(0)\n"
        "    print('higher' if int(word) < secret else 'lower', flush=True)\nsys.exit(1)\n"
    )
    interactor = {"language": language, "source": python if language == "python" else INTERACTOR}
    tests = [{"stdin": "731\n"}, {"stdin": "1\n"}]
    limits = {"cpu_s": 0.5, "wall_s": 1}
    found = judged(sandbox, source, tests=tests, interactor=interactor, limits=limits)
    assert (found.failure.verdict.value if found.failure else "AC") == verdict


def test_an_answer_that_dies_is_not_the_interactors_to_judge(sandbox, cpp):
    # Its end and the interactor's word on it meet each other on the way, in one run of ten.
    interactor = {"language": cpp, "source": INTERACTOR}
    source = "print(1)\nprint(2)\ninput(); input(); 1 / 0"
    found = [
        judged(sandbox, source, tests=[{"stdin": "731\n"}], interactor=interactor).failure
        for _ in range(40)
    ]
    assert {f.message for f in found} == {"ZeroDivisionError: division by zero"}


TESTS = [{"stdin": f"{n}\n", "stdout": f"{n}\n"} for n in range(4)]
SUBTASKS = [
    {"id": "easy", "points": 30, "tests": [0, 1]},
    {"points": 50, "tests": [0, 1, 2, 3]},
    {"id": "mean", "points": 20, "tests": [0, 1, 2, 3], "scoring": "sum"},
]


def test_subtasks(sandbox):
    source = "n = int(input())\nprint(n if n < 3 else 0)"
    found = judged(sandbox, source, early=False, tests=TESTS, subtasks=SUBTASKS)
    assert [(s.id, s.points, s.of) for s in found.subtasks] == [
        ("easy", 30, 30), ("2", 0, 50), ("mean", 15, 20),
    ]  # fmt: skip
    assert (found.fraction, found.accepted) == (0.45, False)
    assert judged(sandbox, "print(input())", tests=TESTS, subtasks=SUBTASKS).fraction == 1


def test_partial_points_in_a_subtask(sandbox):
    checker = {
        "language": "python",
        "max_points": 10,
        "source": "import sys\nprint('points 4', file=sys.stderr)\nsys.exit(7)\n",
    }
    found = judged(
        sandbox, "print(1)", early=False, tests=TESTS, subtasks=SUBTASKS, checker=checker
    )
    assert [s.points for s in found.subtasks] == pytest.approx([12, 20, 8])
