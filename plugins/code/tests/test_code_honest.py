"""Right programs in the ways that people write them: every one passes."""

from __future__ import annotations

import importlib.util
import re

import pytest

from cascade_rl.types import Completion, Prompt
from cascade_rl_code import Options, reward
from cascade_rl_code.layouts.contests import LEETCODE
from cascade_rl_code.truth import BadTruth, read_truth


@pytest.fixture
def judged(sandbox):
    def judged(code, *tests, **truth):
        ground_truth = {"language": "python", "tests": list(tests), **truth}
        prompt = Prompt.from_text(str(hash(code)), "?", ground_truth=ground_truth)
        found = reward(prompt, Completion(text=f"````python\n{code}\n````"), Options())
        return found.score, found.reason

    return judged


SUM = {
    "input": "n = int(input())\nprint(sum(int(input()) for _ in range(n)))",
    "stdin.read": "import sys\nprint(sum(map(int, sys.stdin.read().split()[1:])))",
    "stdin.buffer": "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split()[1:])))",
    "readline of buffer": "import sys\ni = sys.stdin.buffer.readline\nprint(sum(int(i()) for _ in range(int(i()))))",
    "input replaced": "import sys\ninput = sys.stdin.readline\nprint(sum(int(input()) for _ in range(int(input()))))",
    "input, then readline": "import sys\nn = int(input())\nprint(sum(int(sys.stdin.readline()) for _ in range(n)))",
    "input, then iteration": "import sys\ninput()\nprint(sum(int(line) for line in sys.stdin))",
    "os.read": "import os\nprint(sum(map(int, os.read(0, 1 << 20).split()[1:])))",
    "os.read with fstat": "import os\nprint(sum(map(int, os.read(0, os.fstat(0).st_size).split()[1:])))",
    "open(0)": "print(sum(map(int, open(0).read().split()[1:])))",
    "open /dev/stdin": "print(sum(map(int, open('/dev/stdin').read().split()[1:])))",
    "mmap": "import mmap\nprint(sum(map(int, mmap.mmap(0, 0, prot=mmap.PROT_READ)[:].split()[1:])))",
    "fileinput": "import fileinput\nprint(sum(int(line) for line in list(fileinput.input())[1:]))",
    "BytesIO idiom": "import io, os, sys\nbuf = io.BytesIO(os.read(0, os.fstat(0).st_size))\ninput = lambda: buf.readline().decode()\nsys.stdout = io.StringIO()\nprint(sum(int(input()) for _ in range(int(input()))))\nos.write(1, sys.stdout.getvalue().encode())",
    "stdout.write": "import sys\nd = sys.stdin.read().split()\nsys.stdout.write(str(sum(map(int, d[1:]))))",
    "stdout.buffer": "import sys\nd = sys.stdin.read().split()\nsys.stdout.buffer.write(b'%d' % sum(map(int, d[1:])))",
    "stdout rewrapped": "import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, write_through=False)\nprint(sum(map(int, sys.stdin.read().split()[1:])))",
    "redirect": "import contextlib, io, sys\nb = io.StringIO()\nwith contextlib.redirect_stdout(b): print(sum(map(int, sys.stdin.read().split()[1:])))\nprint(b.getvalue())",
    "atexit": "import atexit, sys\nd = sys.stdin.read().split()\natexit.register(lambda: print(sum(map(int, d[1:]))))",
    "main guard": "def main():\n    n = int(input())\n    print(sum(int(input()) for _ in range(n)))\nif __name__ == '__main__':\n    main()",
    "a thread with a large stack": "import sys, threading\nsys.setrecursionlimit(10 ** 6)\nthreading.stack_size(512 << 20)\ndef main():\n    d = list(map(int, sys.stdin.read().split()))\n    def f(i): return 0 if i == 0 else 1 + f(i - 1)\n    assert f(50000) == 50000\n    print(sum(d[1:]))\nt = threading.Thread(target=main)\nt.start()\nt.join()",
    "exit": "d = open(0).read().split()\nprint(sum(map(int, d[1:])))\nexit()",
    "quit(0)": "d = open(0).read().split()\nprint(sum(map(int, d[1:])))\nquit(0)",
    "os._exit after a flush": "import os, sys\nd = open(0).read().split()\nprint(sum(map(int, d[1:])), flush=True)\nos._exit(0)",
    "until EOFError": "t = []\ntry:\n    while True: t.append(int(input()))\nexcept EOFError:\n    print(sum(t[1:]))",
    "a generator that recurses": "from types import GeneratorType\nimport sys\ndef go(d, i=1):\n    if i == len(d): return 0\n    return d[i] + go(d, i + 1)\nprint(go(list(map(int, sys.stdin.read().split()))))",
    "dataclass, typing, enum": "from dataclasses import dataclass\nfrom typing import *\nfrom enum import Enum\n@dataclass\nclass D:\n    x: List[int]\nprint(sum(D(list(map(int, open(0).read().split()))).x[1:]))",
    "many modules": "import bisect, collections, copy, datetime, decimal, fractions, functools, hashlib, heapq, itertools, json, math, operator, random, re, statistics, string, time\nprint(sum(map(int, open(0).read().split()[1:])))",
    "from __future__": "from __future__ import annotations\nfrom collections import *\nprint(sum(map(int, open(0).read().split()[1:])))",
    "lru_cache": "import functools\nd = list(map(int, open(0).read().split()))[1:]\n@functools.lru_cache(None)\ndef f(i): return 0 if i == len(d) else d[i] + f(i + 1)\nprint(f(0))",
    "multiprocessing": "import concurrent.futures as c\nd = list(map(int, open(0).read().split()))[1:]\nwith c.ThreadPoolExecutor(4) as p: print(sum(p.map(int, d)))",
}  # fmt: skip
GIVEN = [{"stdin": "3\n10\n20\n12\n", "stdout": "42\n"}, {"stdin": "1\n-5", "stdout": "-5"}]


@pytest.mark.parametrize("code", SUM.values(), ids=SUM.keys())
def test_ways_to_read_and_to_write(judged, code):
    assert judged(code, *GIVEN) == (1, "AC: 2 tests")


def test_recursion_a_hundred_thousand_deep(judged):
    code = "import sys\nsys.setrecursionlimit(10 ** 6)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(int(input())))"
    assert judged(code, {"stdin": "100000", "stdout": "100000"}) == (1, "AC: 1 tests")


def test_numpy_where_it_is_installed(judged):
    if importlib.util.find_spec("numpy") is None:
        pytest.skip("numpy is not installed here")
    code = "import numpy as np\nprint(np.array(input().split(), dtype=int).sum())"
    assert judged(code, {"stdin": "1 2 3", "stdout": "6"})[0] == 1
    returns = "import numpy as np\ndef f(n): return np.arange(n)"
    assert judged(returns, {"args": [3], "returns": [0, 1, 2]}, function="f")[0] == 1


NODES = (
    LEETCODE
    + """
def linked(items):
    head = None
    for item in reversed(items): head = ListNode(item, head)
    return head
def unlinked(node):
    return [] if node is None else [node.val, *unlinked(node.next)]
"""
)


def test_a_solution_with_list_nodes(judged):
    code = (
        "class Solution:\n    def reverse(self, head: Optional[ListNode]) -> Optional[ListNode]:\n"
        "        last = None\n        while head: head.next, last, head = last, head, head.next\n"
        "        return last"
    )
    prelude = "from typing import *\n" + NODES
    tests = [{"assert": f"assert unlinked(Solution().reverse(linked({n}))) == {n[::-1]}"}
             for n in ([], [1], [1, 2, 3])]  # fmt: skip
    assert judged(code, *tests, prelude=prelude) == (1, "AC: 3 tests")


def test_a_solution_with_tree_nodes(judged):
    code = (
        "class Solution:\n    def depth(self, root):\n"
        "        return 0 if root is None else 1 + max(self.depth(root.left), self.depth(root.right))"
    )
    tests = [{"assert": "assert Solution().depth(TreeNode(1, TreeNode(2), None)) == 2"},
             {"assert": "assert Solution().depth(None) == 0"}]  # fmt: skip
    assert judged(code, *tests, prelude=NODES) == (1, "AC: 2 tests")


def test_a_solution_by_arguments(judged):
    code = "class Solution:\n    def twoSum(self, nums, target):\n        return [0, 1]"
    test = {"args": [[2, 7], 9], "returns": [0, 1]}
    assert judged(code, test, function="twoSum")[0] == 1
    assert judged(code, test, function="Solution().twoSum")[0] == 1


def test_what_a_test_cannot_send_is_no_fault_of_the_answer(sandbox):
    test = {"assert": "for value in [1]:\n    assert f(ListNode(value)) == value"}
    truth = {"language": "python", "tests": [test], "prelude": NODES}
    prompt = Prompt.from_text("x", "?", ground_truth=truth)
    text = "```python\ndef f(node): return node.val\n```"
    found = reward(prompt, Completion(text=text), Options())
    assert (found.score, found.status) == (None, "error")
    assert "the arguments of f cannot be sent" in found.reason


@pytest.mark.parametrize(
    "output",
    ["1 2\n3\n", "1 2\n3", "1 2 \n3\n\n", "1 2\r\n3\r\n", "\n1 2\n3\n", "1  2\n3\n"],
)
def test_white_space_that_does_not_matter(judged, output):
    code = f"import sys; sys.stdout.write({output!r})"
    assert judged(code, {"stdin": "", "stdout": "1 2\n3\n"})[0] == 1


def test_the_order_of_a_set_is_the_same_in_every_run(judged):
    code = "print(*{'a', 'b', 'c', 'dd', 'e', 'ff'})"
    from cascade_rl.sandbox import Program, TestRun, open_sandbox

    said = set()
    for _ in range(2):
        with open_sandbox() as fresh:
            (outcome,) = fresh.run(Program(code), [TestRun()])
            said.add(outcome.stdout)
    (order,) = said
    assert judged(code, {"stdin": "", "stdout": order.decode()})[0] == 1


@pytest.mark.parametrize(
    ("test", "answer", "score"),
    [
        ("l=[3,1]\nf(l)\nassert l==[1,3]", "def f(x): x.sort()", 1.0),
        ("l=[3,1]\nf(l)\nassert l==[1,3]", "def f(x): pass", 0.0),
        ("l=[3,1]\nr=f(l)\nassert r is None\nassert l==[1,3]", "def f(x): x.sort()", 1.0),
        ("d={}\nf(x=d)\nassert d['a']==1", "def f(x): x['a'] = 1", 1.0),
        (
            "n=[0,1,0,3]\nSolution().move(n)\nassert n==[1,3,0,0]",
            "class Solution:\n  def move(self, n): n.sort(key=lambda v: v == 0)",
            1.0,
        ),
        ("l=[3,1]\nf(l)\nl=[7]\nassert f(l) is None", "def f(x): x.sort()", 1.0),
    ],
)
def test_what_an_answer_does_to_its_arguments_is_seen(judged, score, test, answer):
    assert judged(answer, {"assert": test})[0] == score


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"prelude": "def ("}, "prelude is no Python program"),
        ({"function": "f("}, "function is 'f(', no Python expression"),
        (
            {"limits": {"cpu_s": 1e9}},
            "limits.cpu_s: Input should be less than or equal to 3600, got",
        ),
        ({"limits": {"cpu_s": "2"}}, "limits.cpu_s: Input should be a valid number, got '2'"),
        (
            {"limits": {"memory_mb": 1}},
            "limits.memory_mb: Input should be greater than or equal to 16",
        ),
        ({"tolerance": True}, "tolerance: Input should be a valid number, got True"),
        (
            {"checker": {"source": "x", "language": "py9"}},
            "checker.language: unknown language 'py9'",
        ),
    ],
)
def test_a_ground_truth_that_cannot_be_meant_is_said_to_be_so(fields, said):
    with pytest.raises(BadTruth, match=re.escape(said)):
        read_truth({"language": "python", "tests": [{"stdin": "", "stdout": "3"}], **fields})
