"""Replies with the reward each must get: what ``cascade check code`` runs."""

from __future__ import annotations

from typing import Any, Literal

from cascade_rl.types import Completion, Example, Prompt

Kind = Literal["right", "wrong", "hostile"]
Truth = dict[str, Any]

_SUM: Truth = {
    "language": "python",
    "tests": [{"stdin": "1 2\n", "stdout": "3\n"}, {"stdin": "-5 5\n", "stdout": "0\n"}],
    "limits": {"cpu_s": 1, "wall_s": 2, "memory_mb": 256, "output_kb": 256},
}
_SQUARE: Truth = {
    "language": "python",
    "function": "square",
    "tests": [{"args": [3], "returns": 9}, {"args": [-2], "returns": 4}],
}
_ASSERTED: Truth = {
    "language": "python",
    "tests": [{"assert": "assert square(3) == 9"}, {"assert": "assert square(-2) == 4"}],
}
_EXAMINED: Truth = {
    "language": "python",
    "tests": [{"assert": "for n in range(4):\n    assert square(n) == n ** 2"}],
}
_HALF: Truth = {
    "language": "python",
    "tests": [{"stdin": "1\n", "stdout": "0.333333333\n"}],
    "tolerance": 1e-6,
}
_DIVISOR: Truth = {
    "language": "python",
    "tests": [{"stdin": "12\n", "stdout": "2\n"}],
    "many_answers": True,
    "checker": {
        "language": "python",
        "source": (
            "import sys\n"
            "number = int(open(sys.argv[1]).read())\n"
            "word = open(sys.argv[2]).read().strip()\n"
            "good = len(word) < 9 and word.isdigit() and int(word) > 1\n"
            "sys.exit(0 if good and number % int(word) == 0 else 1)\n"
        ),
    },
}
_NO_TESTS: Truth = {"language": "python", "tests": []}
_READ = "a, b = map(int, input().split())\n"


def _example(
    name: str, kind: Kind, truth: Truth, reply: str, expected: float | None, think: bool = False
) -> Example:
    mode: Literal["think", "none"] = "think" if think else "none"
    prompt = Prompt.from_text(f"example-{name}", "Write it.", ground_truth=truth, mode=mode)
    completion = Completion(text=reply)
    return Example(name=name, kind=kind, prompt=prompt, completion=completion, expected=expected)


def _block(code: str, tag: str = "python") -> str:
    return f"```{tag}\n{code}\n```"


_EQUAL = (
    "class Equal(int):\n"
    "    def __eq__(self, other): return True\n"
    "    def __ne__(self, other): return False\n"
    "    __hash__ = None\n"
    "def square(n): return Equal(0)"
)
_SQUARE_TAGS = (("args", _SQUARE), ("asserts", _ASSERTED), ("examined", _EXAMINED))

EXAMPLES: tuple[Example, ...] = (
    _example("sum", "right", _SUM, _block(_READ + "print(a + b)"), 1),
    _example("sum-after-thoughts", "right", _SUM,
             f"<think>{_block('oops(')}</think>\n" + _block(_READ + "print(a + b)"), 1, think=True),
    _example("last-block-counts", "right", _SUM,
             _block(_READ + "print(a)") + "\nNo:\n" + _block(_READ + "print(a + b)"), 1),
    _example("another-block-after-it", "right", _SUM,
             _block(_READ + "print(a + b)") + "\nIt prints\n" + _block("3", ""), 1),
    *(_example(f"square-{name}", "right", truth, _block("def square(n): return n * n"), 1)
      for name, truth in _SQUARE_TAGS),
    _example("method", "right", _SQUARE,
             _block("class Solution:\n    def square(self, n): return n * n"), 1),
    _example("draft-then-corrected", "right", _ASSERTED,
             _block("def square(n): return n") + "\n" + _block("def square(n): return n ** 2"), 1),
    _example("third", "right", _HALF, _block("print(int(input()) / 3)"), 1),
    _example("other-divisor", "right", _DIVISOR, _block("print(6)"), 1),
    _example("difference", "wrong", _SUM, _block(_READ + "print(a - b)"), 0),
    _example("first-test-only", "wrong", _SUM, _block("print(3)"), 0),
    _example("extra-line", "wrong", _SUM, _block(_READ + "print(a + b)\nprint()\nprint(1)"), 0),
    _example("no-block", "wrong", _SUM, _READ + "print(a + b)", 0),
    _example("open-block", "wrong", _SUM, "```python\n" + _READ + "print(a + b)", 0),
    _example("other-language", "wrong", _SUM, _block("int main(){}", "cpp"), 0),
    _example("only-in-thoughts", "wrong", _SUM,
             f"<think>{_block(_READ + 'print(a + b)')}</think>done", 0, think=True),
    _example("thoughts-never-closed", "wrong", _SUM, _block(_READ + "print(a + b)"), 0, think=True),
    _example("syntax-error", "wrong", _SUM, _block("print(1"), 0),
    _example("exception", "wrong", _SUM, _block("raise ValueError"), 0),
    _example("no-divisor", "wrong", _DIVISOR, _block("print(5)"), 0),
    *(_example(f"doubled-{name}", "wrong", truth, _block("def square(n): return 2 * n"), 0)
      for name, truth in _SQUARE_TAGS),
    *(_example(f"equals-everything-{name}", "hostile", truth, _block(_EQUAL), 0)
      for name, truth in _SQUARE_TAGS),
    *(_example(f"exit-0-{name}", "hostile", truth,
               _block("import os\ndef square(n): os._exit(0)"), 0)
      for name, truth in _SQUARE_TAGS),
    _example("loop", "hostile", _SUM, _block("while True: pass"), 0),
    _example("sleep", "hostile", _SUM, _block("import time\ntime.sleep(99)"), 0),
    _example("memory", "hostile", _SUM, _block("x = [0] * 10 ** 10"), 0),
    _example("output", "hostile", _SUM, _block("while True: print('x' * 999)"), 0),
    _example("segfault", "hostile", _SUM, _block("import ctypes; ctypes.string_at(0)"), 0),
    _example("forks", "hostile", _SUM, _block("import os\nwhile True: os.fork()"), 0),
    _example("null-and-surrogates", "hostile", _SUM, _block("print('\x00\udcff')"), 0),
    _example("deep-brackets", "hostile", _SUM, _block("(" * 50_000), 0),
    _example("checker-that-meets-noise", "hostile", _DIVISOR, _block("print('9' * 5000)"), 0),
    _example("no-tests", "hostile", _NO_TESTS, _block("print(1)"), None),
)  # fmt: skip
