"""What every Python child does, done a few times in the guest itself before the first fork.

The interpreter notes what it looks up and which code is hot. A child that finds it noted writes
less, and every page that it writes has to be copied for it.
"""

from __future__ import annotations

import marshal
import sys

from cascade_rl.sandbox.guest import values
from cascade_rl.sandbox.guest.program import exit_code, load

_TIMES = 32
_PROGRAM = r"""
import io, os, sys
class Pair:
    def __init__(self, one, two):
        self.one, self.two = one, two
def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result
def main(stdin, stdout):
    numbers = list(map(int, stdin.readline().split()))
    numbers.append(len(numbers)); numbers.sort(); numbers.sort(key=lambda n: -n); numbers.pop()
    table = {number: str(number) for number in numbers}
    for key, value in sorted(table.items()):
        table[key] = table.get(key, value).strip().lower().replace("x", "y")
    words = " ".join(table.values()).split(",")
    pairs = [Pair(number, word) for number, word in zip(numbers, words)]
    print(total(numbers), max(numbers), len(pairs), *numbers, sep=" ", file=stdout)
    print(f"{pairs[0].one} {words[0]:>3}", file=stdout)
    stdout.write("\n".join(map(str, stdin.read().splitlines())) + "\n")
    stdout.flush()
for _ in range(2):
    main(io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"3 1 2\n4\n5\n"))),
         io.TextIOWrapper(io.BufferedWriter(io.BytesIO())))
"""


def rehearse() -> None:
    """Run a small program of the common kind; leaves no trace in ``sys.modules``."""
    code = marshal.dumps(compile(_PROGRAM, "answer.py", "exec"))
    own = dict(sys.modules)
    for _ in range(_TIMES):
        if exit_code(lambda: _play(code)):
            raise RuntimeError("the rehearsal failed")
    sys.modules.clear()
    sys.modules.update(own)


def _play(code: bytes) -> None:
    namespace = load({"code": code}, "__main__")
    function, args = values.loads(values.dumps(["total", ([1, 2], 0.5, "a", {3: None})]))
    values.dumps([eval(function, namespace)(args[0]), *args])
