"""Functions called across the wall, test code that examines them, and conversations."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox_kit import needs_bubblewrap

from cascade_rl.sandbox import (
    Call,
    Limits,
    Program,
    SandboxError,
    Status,
    TestRun,
    open_sandbox,
)
from cascade_rl.sandbox.guest import values

LIMITS = Limits(cpu_s=1, wall_s=1)


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox("bubblewrap") as opened:
        yield opened


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
)
hashable = st.recursive(
    scalars, lambda x: st.tuples(x, x) | st.frozensets(x, max_size=3), max_leaves=5
)
plain = st.recursive(
    scalars | st.complex_numbers(allow_nan=False),
    lambda x: (
        st.lists(x, max_size=3)
        | st.tuples(x)
        | st.sets(hashable, max_size=3)
        | st.dictionaries(hashable, x, max_size=3)
    ),
    max_leaves=8,
)


def shape(value):
    if isinstance(value, list | tuple):
        return [type(value), *map(shape, value)]
    return type(value)


@given(plain)
@settings(deadline=None)
def test_plain_values_cross_exactly(value):
    back = values.loads(values.dumps(value))
    assert back == value
    assert shape(back) == shape(value)


def test_values_that_json_has_no_words_for():
    value = [math.inf, -math.inf, 2**200, -(2**63), {1: "a", (2,): b"\xff"}, "\ud800", -0.0]
    back = values.loads(values.dumps(value))
    assert back == value
    assert math.copysign(1, back[-1]) == -1
    assert math.isnan(values.loads(values.dumps(math.nan)))


@pytest.mark.parametrize(
    "text",
    [b"", b"[", b"[" * 100_000, b"9" * 9000, b"{}", b'{"x": 1}', b'{"s": [[1]]}', b'{"t": 3}',
     b'{"i": "zz"}', b'{"b": "x"}', b'{"d": [[1]]}', b'{"c": [1]}', b"\xff", b'{"t": [], "s": []}'],
)  # fmt: skip
def test_what_is_no_value_is_refused(text):
    with pytest.raises(values.NotPlain):
        values.loads(text)


def test_what_is_not_plain_is_refused():
    deep = []
    for _ in range(300):
        deep = [deep]
    for value in (object(), print, deep, range(3), iter([])):
        with pytest.raises(values.NotPlain):
            values.dumps(value)
    assert json.loads(values.dumps([1, "a", None])) == [1, "a", None]


@needs_bubblewrap
@pytest.mark.parametrize(
    ("source", "call", "value"),
    [
        ("def f(a, b): return a + b", Call("f", ([1], [2])), [1, 2]),
        ("def f(a, b=0): return a - b", Call("f", (1,), {"b": 5}), -4),
        ("class Solution:\n  def g(self, x): return {x}", Call("Solution().g", (3,)), {3}),
        ("def f(x): x.sort()", Call("f", ([2, 1],), return_args=True), [[1, 2]]),
        ("from collections import *\ndef f(): return Counter('aab')", Call("f"), {"a": 2, "b": 1}),
        ("def f(): return None", Call("f"), None),
        ("print('noise')\ndef f(): print('noise'); return 7", Call("f"), 7),
        ("def f(): return __name__", Call("f"), "answer"),
        ("def f(): return 3**5000", Call("f"), 3**5000),
        ("import sys\ndef f(): return sys.stdin.read()", Call("f"), ""),
    ],
)
def test_calls(sandbox, source, call, value):
    (outcome,) = sandbox.run(Program(source), [TestRun(call=call)])
    assert outcome.ok, outcome
    assert (outcome.returned, outcome.value) == (True, value)


@needs_bubblewrap
def test_calls_that_return_nothing_plain(sandbox):
    (outcome,) = sandbox.run(Program("def f(): return map(str, [])"), [TestRun(call=Call("f"))])
    assert (outcome.status, outcome.returned) == (Status.OK, False)
    assert outcome.message == "the function returned no plain data: a map is not plain data"


@needs_bubblewrap
@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        ("def f(): raise KeyError('k')", Status.RE, "KeyError: 'k'"),
        ("", Status.RE, "NameError: name 'f' is not defined"),
        ("def f(): exit()", Status.OK, ""),
        ("def f():\n  while True: pass", Status.TLE, "CPU"),
        ("def f(): return 'x' * (9 << 20)", Status.OLE, "8192 KiB"),
    ],
)
def test_calls_that_fail(sandbox, source, status, words):
    (outcome,) = sandbox.run(Program(source), [TestRun(call=Call("f"))], LIMITS)
    assert (outcome.status, outcome.returned) == (status, False)
    assert words in outcome.message


@needs_bubblewrap
def test_calls_are_for_python_and_plain_arguments(sandbox):
    with pytest.raises(SandboxError, match="arguments of f cannot be sent: a object is not plain"):
        next(sandbox.run(Program("def f(x): pass"), [TestRun(call=Call("f", (object(),)))]))
    if "c" in sandbox.languages():
        with pytest.raises(SandboxError, match="only Python functions can be called, not c"):
            next(sandbox.run(Program("int main() {}", "c"), [TestRun(call=Call("f"))]))


def examine(sandbox, program, tests, limits=LIMITS):
    return sandbox.examine(Program(program), Program(tests), {"candidate": "f"}, limits)


@needs_bubblewrap
@pytest.mark.parametrize(
    ("program", "tests", "status", "words"),
    [
        ("def f(x): return x + 1", "assert candidate(1) == 2", Status.OK, ""),
        ("def f(x): return x", "assert candidate(1) == 2", Status.RE, "AssertionError"),
        ("def f(x): return x", "for i in range(50): assert candidate((i,)) == (i,)", Status.OK, ""),
        ("def f(x): return [1 / x]", "try: candidate(0)\nexcept ZeroDivisionError: pass\nelse: 1/0",
         Status.OK, ""),
        ("class E:\n  def __eq__(s, o): return True\ndef f(x): return E()",
         "assert candidate(1) == 2", Status.RE, "a E is not plain data"),
        ("import sys\ndef f(x): sys.exit(0)", "assert candidate(1) == 2", Status.RE, "RuntimeError"),
        ("import os\ndef f(x): os._exit(0)", "assert candidate(1) == 2", Status.RE,
         "the program has ended"),
        ("def f(x):\n  while True: pass", "candidate(1)", Status.RE, "the program has ended"),
        ("1 / 0", "candidate(1)", Status.RE, "the program has ended"),
        ("import builtins\nbuiltins.all = lambda x: True\ndef f(x): return 0",
         "assert all([candidate(1) == 2])", Status.RE, "AssertionError"),
        ("import gc\ndef f(x): return [o for o in gc.get_objects() if o == ['hid', 'den']]",
         "secret = ['hid', 'den']\nassert candidate(1) == []", Status.OK, ""),
    ],
)  # fmt: skip
def test_examine(sandbox, program, tests, status, words):
    exchange = examine(sandbox, program, tests)
    assert exchange.judge.status is status, exchange
    assert words in exchange.judge.message
    assert next(sandbox.run(Program("print(3)"), [TestRun()])).stdout == b"3\n"


@needs_bubblewrap
def test_examine_tells_both_sides(sandbox):
    exchange = examine(sandbox, "def f(x):\n  print(x)\n  return x", "candidate(5)\nprint('done')")
    assert (exchange.program.stdout, exchange.judge.stdout) == (b"5\n", b"done\n")
    slow = examine(sandbox, "def f(x):\n  while True: pass", "try: candidate(1)\nfinally: pass")
    assert slow.program.status is Status.TLE
    broken = examine(sandbox, "def f(", "")
    assert (broken.program.status, broken.judge.ok) == (Status.CE, True)
    impossible = examine(sandbox, "def f(x): pass", "candidate(lambda: 1)")
    assert (impossible.judge.exit_code, impossible.judge.message) == (
        3,
        "the arguments of f cannot be sent: a function is not plain data",
    )
    named = sandbox.examine(Program("def f(): return 1"), Program("assert f() == 1"), ["f"])
    assert named.judge.ok


GUESS = """
import sys
secret = int(open(sys.argv[1]).read())
print(1000, flush=True)
for _ in range(12):
    guess = int(input())
    if guess == secret:
        print("=", flush=True)
        sys.exit(0)
    print("<" if secret < guess else ">", flush=True)
sys.exit("too many guesses")
"""
BISECT = """
low, high = 1, int(input())
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    said = input()
    if said == "=": break
    low, high = (low, middle - 1) if said == "<" else (middle + 1, high)
"""
SECRET = TestRun(argv=("{secret}",), files={"secret": b"737"})


def guess(sandbox, source, language="python"):
    return sandbox.interact(Program(source, language), Program(GUESS), SECRET, LIMITS)


@needs_bubblewrap
def test_interact(sandbox):
    right = guess(sandbox, BISECT)
    assert right.program.ok
    assert right.judge.ok, right
    assert right.program.stdout.split()[-1] == b"737"
    wrong = guess(sandbox, BISECT.replace("// 2", "// 3"))
    assert (wrong.judge.status, wrong.judge.message) == (Status.RE, "too many guesses")


@needs_bubblewrap
@pytest.mark.parametrize(
    ("source", "program", "words"),
    [
        ("input()", Status.OK, "EOFError"),
        ("1 / 0", Status.RE, "EOFError"),
        ("import time; time.sleep(99)", Status.ILE, "EOFError"),
        ("while True: pass", Status.TLE, "EOFError"),
        ("print('x' * (9 << 20))", None, "E"),
        ("import os; os.close(0); os.close(1); print(5)", Status.RE, "EOFError"),
        ("import os, signal; os.kill(-1, signal.SIGKILL)", Status.RE, "EOFError"),
        ("import os\nif os.fork(): print(1)\nelse:\n  import time; time.sleep(99)", None, "EOF"),
    ],
)
def test_interact_with_programs_that_fail(sandbox, source, program, words):
    exchange = guess(sandbox, source)
    assert program is None or exchange.program.status is program, exchange
    assert (exchange.judge.status, words in exchange.judge.message) == (Status.RE, True), exchange
    assert guess(sandbox, BISECT).judge.ok


@needs_bubblewrap
def test_much_is_said_both_ways_at_once(sandbox):
    program = Program("for n in range(40_000): print(n)\nprint(sum(map(int, open(0))))", "python")
    judge = Program(
        "import sys\nfor n in range(40_000): print(n)\nsys.stdout.flush()\nsys.stdout.close()\n"
        "import os; os.close(1)\nsaid = sys.stdin.read().split()\n"
        "assert said[-1] == str(sum(range(40_000))), said[-1]"
    )
    exchange = sandbox.interact(program, judge, limits=Limits(cpu_s=10))
    assert exchange.judge.ok, exchange
    assert exchange.program.ok


@needs_bubblewrap
def test_native_programs_talk_too(sandbox):
    if "cpp17" not in sandbox.languages():
        pytest.skip("g++ is not installed")
    source = """
#include <iostream>
#include <string>
int main() {
    int low = 1, high; std::cin >> high;
    for (std::string said; said != "=";) {
        int middle = (low + high) / 2;
        std::cout << middle << std::endl;
        std::cin >> said;
        if (said == "<") high = middle - 1; else low = middle + 1;
    }
}
"""
    assert guess(sandbox, source, "cpp17").judge.ok
