"""Test code taken apart: what may run beside the answer, and what must not."""

from __future__ import annotations

import re

import pytest

from cascade_rl_code.asserts import BadTest, Collected, Examined, plan
from cascade_rl_code.checks import Check
from cascade_rl_code.collector import judge_values


def checks(text, **more):
    found = plan(text, **more)
    assert isinstance(found, Collected), found
    return [(check.demand, check.expected) for check in found.checks]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("assert f(1) == 2", ("==", 2)),
        ("assert 2 == f(1)", ("==", 2)),
        ("assert f(1) != 2, 'message'", ("!=", 2)),
        ("assert f(1)", ("true", None)),
        ("assert not f(1)", ("false", None)),
        ("assert f(1) is None", ("is", None)),
        ("assert f(1) is not True", ("is not", True)),
        ("assert f(1) in (1, 2)", ("in", (1, 2))),
        ("assert f(1) < 3", ("<", 3)),
        ("assert 3 < f(1)", (">", 3)),
        ("assert f(1) == (3 + 5, 'a' + 'b', -0.5)", ("==", (8, "ab", -0.5))),
        ("assert f(1) == {'a': {1, 2}, 'b': []}", ("==", {"a": {1, 2}, "b": []})),
        ("assert f(1) == set()", ("==", set())),
        ("assert f(1) == float('inf')", ("==", float("inf"))),
        ("assert f(1)[0] == 'a'", ("==", "a")),
        ("assert sorted(f(1)) == [1]", ("==", [1])),
        ("assert round(f(1), 2) == 0.33", ("==", 0.33)),
        ("assert abs(f(1) - 0.33) < 1e-6", ("within", 0.33)),
        ("assert ''.join(f(1)) == 'ab'", ("==", "ab")),
        ("assert f(g(2)) == 2", ("==", 2)),
        ("assert Solution().f(1) == 2", ("==", 2)),
        ("x = [1]\nassert f(x) == 2", ("==", 2)),
        ("x = f(1)\nassert x == 2", ("==", 2)),
        ("root = Node(1)\nroot.left = Node(2)\nassert depth(root) == 2", ("==", 2)),
        ("s = Stack()\ns.push(1)\nassert s.pop() == 1", ("==", 1)),
        ("import math\nassert math.floor(f(1)) == 2", ("==", 2)),
        ("def head(v):\n    return v[0]\nassert head(f(1)) == 2", ("==", 2)),
        ("    assert f(1) == 2", ("==", 2)),
    ],
)
def test_collected(text, wanted):
    assert checks(text) == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(3):\n    assert f(i) == i",
        "assert f(1) == g(1)",
        "assert f(1) - 5 == 0",
        "d = f(1) - 5\nassert d == 0",
        "assert abs(f(1) - 5) == 0",
        "assert max(f(1), 5) == 5",
        "assert (f(1) == 5) == True",
        "assert f(1) == 5 and f(2) == 6",
        "assert 1 < f(1) < 3",
        "assert isinstance(f(1), list)",
        "import math\nassert math.isclose(f(1), 5)",
        "import helper\nassert helper.same(f(1)) == True",
        "def same(v):\n    return v == 5\nassert same(f(1))",
        "def same(v):\n    return v == 5\nassert same(f(1)) == 1",
        "def gap(v):\n    return v - 5\nassert gap(f(1)) == 0",
        "def calls(v):\n    return f(v)\nassert calls(1) == 0",
        "expected = 5\nassert f(1) == expected",
        "try:\n    f(-1)\n    assert False\nexcept ValueError:\n    pass",
        "from os.path import *\nassert f(1) == 2",
        "x = 2 ** 10 ** 10\nassert f(1) == 2 ** 10 ** 10",
        "f(1) + 5\nassert f(1) == 2",
        "assert f(1) == 2\nassert False",
    ],
)
def test_examined(text):
    found = plan(text)
    assert isinstance(found, Examined), found
    assert "f" in found.functions
    assert found.functions["f"] == "f"


def test_constants_do_not_reach_the_code_beside_the_answer():
    found = plan("x = 3\nassert f(x) == 98765\nassert abs(f(2) - 54321.5) < 1e-3")
    assert isinstance(found, Collected)
    assert found.body == "x = 3\nkeep(f(x))\nkeep(f(2))"


def test_check_functions_are_inlined():
    text = (
        "META = {'a': 1}\n\ndef check(candidate):\n    assert True\n    assert candidate(1) == 2\n"
    )
    assert checks(text + "check(f)") == [("==", 2)]
    assert plan(text, "f").body == "META = {'a': 1}\ncandidate = f\nkeep(candidate(1))"
    examined = plan(text.replace("== 2", "== g(2)"), "f")
    assert examined.functions == {"f": "f", "g": "g"}
    assert examined.source.rstrip().endswith("check(f)")


def test_names_of_the_prelude_are_not_the_answers():
    prelude = "def poly(x):\n    return x * x\n"
    found = plan("assert poly(f(2)) < 1", prelude=prelude)
    assert isinstance(found, Examined)
    assert dict(found.functions) == {"f": "f"}
    assert found.source.startswith(prelude)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("assert f(1 == 2", "no Python"),
        ("assert 1 == 1", "calls nothing"),
        ("x = 5", "calls nothing"),
        ("(" * 10_000, "no Python"),
        ("\x00", "no Python"),
    ],
)
def test_tests_that_are_none(text, why):
    with pytest.raises(BadTest, match=why):
        plan(text)


def refusal(text) -> str:
    try:
        plan(text)
    except BadTest as error:
        return str(error)
    return ""


@pytest.mark.parametrize("depth", [300, 600, 900, 5000, 50_000])
def test_deep_expressions_are_planned_or_refused(depth):
    why = refusal(f"assert f({'+'.join(['1'] * depth)}) == 1")
    assert re.fullmatch("|the test is nested too deeply|the test is no Python program", why)


@pytest.mark.parametrize(
    ("demand", "expected", "value", "holds"),
    [
        ("==", 5.0, 5, True),
        ("==", (1,), [1], False),
        ("==", 1, True, True),
        ("is", None, 0, False),
        ("is", True, 1, False),
        ("is not", True, 1, True),
        ("in", "abc", "bc", True),
        ("in", "abc", 5, False),
        ("not in", "abc", 5, False),
        ("in", ["a", 1], 1.0, True),
        ("<", 3, "2", False),
        ("<", 3, {1}, False),
        ("true", None, [], False),
        ("false", None, "", True),
    ],
)
def test_demands(demand, expected, value, holds):
    assert Check(demand, expected).holds(value) is holds


@pytest.mark.parametrize(
    ("entry", "verdict", "score"),
    [
        ([[2, 3], ""], "AC", 1),
        ([[2, 4], ""], "WA", 0.5),
        ([[2], "KeyError"], "RE", 0.5),
        ([[2], ""], "RE", 0.5),
        ([[2], "MemoryError"], "MLE", 0.5),
        ([[2, 3, 4], ""], "RE", 1),
        ([[], "SystemExit"], "RE", 0),
        ("forged", "RE", 0),
        ([2, 3], "RE", 0),
        ([[2, 3], 0], "RE", 0),
        (None, "RE", 0),
    ],
)
def test_values_are_judged_whatever_they_look_like(entry, verdict, score):
    judged = judge_values(plan("assert f(1) == 2\nassert f(2) == 3"), entry)
    assert judged.verdict == verdict
    assert judged.points == score
