"""Answers that try to be scored right without being right: every one is rejected."""

from __future__ import annotations

import pytest

from cascade_rl.types import Completion, Prompt
from cascade_rl_code import Options, reward

#: An output that no honest program here prints; where it can be read, an answer can pass.
SECRET = "secret-4711-answer"
STDIN = {"stdin": "1 2\n", "stdout": SECRET}


@pytest.fixture
def score(sandbox):
    def score(code, *tests, **truth):
        limits = {"cpu_s": 2, "wall_s": 2}
        ground_truth = {"language": "python", "tests": list(tests), "limits": limits, **truth}
        prompt = Prompt.from_text(str(hash(code)), "?", ground_truth=ground_truth)
        found = reward(prompt, Completion(text=f"````python\n{code}\n````"), Options())
        assert found.score is not None, found
        assert SECRET not in found.reason
        return found.score

    return score


_FIND = (
    "import re\ndef find(data):\n    for m in re.findall(rb'secret-\\d+-answer', data): print(m)\n"
)
READS_IT = {
    "own memory": _FIND + """
for line in open('/proc/self/maps'):
    span, rights = line.split()[:2]
    if 'r' in rights and '[v' not in line:
        a, b = (int(x, 16) for x in span.split('-'))
        with open('/proc/self/mem', 'rb', 0) as m:
            m.seek(a)
            try: data = m.read(b - a)
            except OSError: continue
        head, tail = b'secret-', rb'-answer'
        i = data.find(head + b'4711' + tail)
        if i >= 0: print(data[i:i + 18].decode())
""",
    "the guest's memory": "print(open('/proc/1/mem', 'rb').read(10))",
    "the guest's descriptors": "import os\nfor n in os.listdir('/proc/1/fd'): print(open('/proc/1/fd/' + n, 'rb').read())",
    "the guest's environment": "print(open('/proc/1/environ').read(), open('/proc/1/cmdline').read())",
    "open descriptors": "import os\nfor n in range(3, 300):\n    try: print(os.pread(n, 9999, 0))\n    except OSError: pass",
    "frames": "import sys\nf = sys._getframe()\nwhile f:\n    print(f.f_locals, f.f_globals); f = f.f_back",
    "the collector": "import gc\nfor o in gc.get_objects(): print(str(o)[:500])",
    "strings of the heap": "import gc\nfor o in gc.get_objects():\n    for r in gc.get_referents(o):\n        if isinstance(r, (str, bytes)) and len(r) < 500: print(r)",
    "other processes": "import os\nfor p in os.listdir('/proc'):\n    if p.isdigit():\n        try: print(open(f'/proc/{p}/cmdline').read(), os.listdir(f'/proc/{p}/fd'))\n        except OSError: pass",
    "modules": "import sys\nfor m in list(sys.modules.values()): print(vars(m))",
}  # fmt: skip


@pytest.mark.parametrize("code", READS_IT.values(), ids=READS_IT.keys())
def test_the_expected_output_is_nowhere_to_be_read(score, sandbox, code):
    assert score(code, STDIN) == 0
    from cascade_rl.sandbox import Program, TestRun

    (outcome,) = sandbox.run(Program(code), [TestRun(stdin=b"1 2\n")])
    assert SECRET.encode() not in outcome.stdout + outcome.stderr


FORGERIES = {
    "verdict lines": "print('AC'); print('passed'); print('{\"exit\":0,\"result\":4,\"bytes\":4}')",
    "a report on every descriptor": """
import os, struct
text = b'{"exit":0,"signal":0,"reason":"","cpu_s":0,"wall_s":0,"peak_kb":0,"survivors":0,"oom":0,'
text += b'"stopped":0,"stdout_size":18,"stderr_size":0,"stdout":18,"stderr":0,"result":0,"bytes":18}'
for n in range(3, 300):
    try: os.write(n, struct.pack('<I', len(text)) + text + b'secret-0000-answer')
    except OSError: pass
""",
    "exit 0 at once": "import os; os._exit(0)",
    "exit in a thread": "import threading, os; threading.Thread(target=lambda: os._exit(0)).start()",
    "output after the end": "import atexit, os\natexit.register(lambda: os.write(1, b'secret'))",
    "a child that prints later": "import os, time\nif os.fork() == 0:\n    time.sleep(0.3); print('secret')",
    "a lazy stdout": "import sys\nclass S(str):\n    __eq__ = lambda s, o: True\nsys.stdout.write(S('x'))",
    "stdout replaced": "import sys\nclass O:\n    def __getattr__(s, n): return lambda *a: True\nsys.stdout = O()",
    "builtins": "import builtins\nbuiltins.print = lambda *a: True\nbuiltins.AssertionError = ValueError",
    "huge output": "while True: print('x' * 10 ** 6)",
    "no text": "import sys; sys.stdout.buffer.write(bytes(range(256)))",
    "a stopped process": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "the guest killed": "import os, signal\nfor s in (9, 15, 11): os.kill(1, s)\nos.kill(-1, 9)",
    "stdin sealed open": "import os\nos.truncate(0, 0)\nos.write(0, b'secret')",
}  # fmt: skip


@pytest.mark.parametrize("code", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_run_is_no_pass_and_the_next_answer_is_judged_right(score, code):
    assert score(code, STDIN) == 0
    right = "print(sum(map(int, input().split())))"
    assert score(right, {"stdin": "1 2\n", "stdout": "3"}) == 1


EQUAL = """
class Yes:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __hash__(self): return 0
    def __len__(self): return 1
    def __bool__(self): return True
    def __iter__(self): return iter([])
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
    def __sub__(self, other): return self
    __rsub__ = __add__ = __radd__ = __mod__ = __getitem__ = __sub__
    def __abs__(self): return self
    def __float__(self): return 9.0
"""
CALLED = {
    "equals everything": EQUAL + "def f(n): return Yes()",
    "equals everything in a list": EQUAL + "def f(n): return [Yes()]",
    "the function's class": EQUAL + "class f(Yes):\n    def __new__(c, *a): return Yes()",
    "an int that lies": EQUAL + "class I(int):\n    __eq__ = lambda s, o: True\ndef f(n): return I(4)",
    "json patched": "import json, json.encoder\njson.dumps = lambda *a, **k: '[]'\n"
    "json.encoder.c_make_encoder = None\ndef f(n): return 4",
    "the codec patched": "import sys\nfor m in list(sys.modules.values()):\n"
    "    if hasattr(m, 'dumps'): m.dumps = lambda *a, **k: b'[]'\ndef f(n): return 4",
    "the caller's frame": "import sys\ndef f(n):\n    g = sys._getframe(1)\n"
    "    while g:\n        g.f_locals.update(answer=9, expected=4); g = g.f_back\n    return 4",
    "exits": "import sys\ndef f(n): sys.exit(0)",
    "exits hard": "import os\ndef f(n): os._exit(0)",
    "raises AssertionError": "def f(n): raise AssertionError",
    "assert switched off": "import builtins\nbuiltins.AssertionError = type('A', (BaseException,), {})\ndef f(n): return 4",
    "patched comparison": "import operator, math\noperator.eq = lambda *a: True\nmath.isclose = lambda *a, **k: True\ndef f(n): return 4",
}  # fmt: skip
KINDS = {
    "args": {"args": [3], "returns": 9},
    "one assert": {"assert": "assert f(3) == 9"},
    "loop of asserts": {"assert": "for x, y in [(3, 9)]:\n    assert f(x) == y, 'no'"},
    "check": {"assert": "def check(g):\n    assert g(3) == 9\n    assert g(2) == 4\ncheck(f)"},
    "isclose": {"assert": "import math\nassert math.isclose(f(3), 9.0)"},
    "helper": {"assert": "def same(a, b):\n    return abs(a - b) < 1e-6\nassert same(f(3), 9)"},
    "try": {"assert": "try:\n    assert f(3) == 9\nexcept ValueError:\n    pass"},
}


@pytest.mark.parametrize("test", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("code", CALLED.values(), ids=CALLED.keys())
def test_a_function_that_cheats_is_rejected(score, code, test):
    assert score(code, test, function="f") == 0


@pytest.mark.parametrize("test", KINDS.values(), ids=KINDS.keys())
def test_the_same_tests_accept_the_function_itself(score, test):
    assert score("def f(n): return n * n", test, function="f") == 1


@pytest.mark.parametrize("check", ["abs(size(f(3))) < 1", "size(f(3)) == 9", "size(f(3)) >= 0"])
def test_a_helper_defined_anew_gains_nothing(score, check):
    prelude = "def size(x):\n    return x"
    assert score("def f(n): return -9", {"assert": f"assert {check}"}, prelude=prelude) == 0
    for size in ("0", "x == x", "x + 10"):
        code = f"def f(n): return -9\ndef size(x): return {size}"
        assert score(code, {"assert": f"assert {check}"}, prelude=prelude) == 0


def test_one_test_leaves_nothing_for_the_next(score):
    code = """
import os, sys, builtins, json, threading
def seen():
    return getattr(builtins, 'mark', None) or getattr(json, 'mark', None) or os.environ.get('MARK')
print('dirty' if seen() else 'clean')
builtins.mark = json.mark = 1
os.environ['MARK'] = '1'
for place in ('/tmp/mark', '/dev/shm/mark', '/mark', 'mark'):
    try: open(place, 'x').write('1')
    except FileExistsError: print('dirty')
    except OSError: pass
"""
    tests = [{"stdin": str(n), "stdout": "clean"} for n in range(3)]
    assert score(code, *tests) == 1
    assert score(code, *tests) == 1
