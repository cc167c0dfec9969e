"""Whatever an answer holds: a verdict, soon, from any thread, and never an exception."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cascade_rl_math import verify
from cascade_rl_math.layers import Verdict


def soon() -> float:
    """Seconds: 1 on a machine of its own, longer on one that has more to do than processors."""
    return 1.0 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)) + 0.5


HOSTILE = {
    "tower": "9^{9^{9^{9}}}",
    "tower in a tree": r"\frac{7^{\left(7^{\left(7^{7}\right)}\right)}-7}{6}",
    "symbolic tower": "x^{x^{x^{x^{x^{x}}}}}",
    "tower of e": "e^{e^{e^{e}}}",
    "power of a variable": "x^{9^{9^{9}}}",
    "factorials": "((x!)!)!",
    "huge factorial": "(10^{9})!",
    "huge binomial": r"\binom{10^9}{10^8}",
    "digits": "7" * 10**5,
    "exponent": "1e999999999",
    "braces": "{" * 10**4 + "}" * 10**4,
    "open braces": "{" * 3_000,
    "parentheses": "(" * 3_000 + ")" * 3_000,
    "mixed brackets": "([{" * 13 + "1" + "}])" * 13,
    "fractions": r"\frac{1}{" * 300 + "1" + "}" * 300,
    "roots": r"\sqrt" * 2_000 + "2",
    "functions": r"\sin " * 1_000 + "x",
    "cosines": r"\cos(" * 30 + "x" + ")" * 30,
    "exponentials": r"\exp(\exp(\exp(\exp(x))))",
    "sine of a giant": r"\sin(10^{19000})",
    "expansion": "(a+b+c+d+x+y)^{24}",
    "nested expansion": "((x+1)^{24}+1)^{24}",
    "product of many": "*".join(f"(x_{i}+{i})" for i in range(60)),
    "products of roots": "*".join(f"(1+\\sqrt{{{i}}})" for i in range(2, 60)),
    "sums of roots": "+".join(f"\\sqrt{{{i}}}" for i in range(2, 600)),
    "sums of sines": "+".join(f"\\sin({i}x)" for i in range(700)),
    "long sum": "+".join(f"x^{{{i}}}" for i in range(900)),
    "harmonic sum": "+".join(f"1/{i}" for i in range(10_001, 11_100)),
    "products": "(2/3)^{19000}(3/2)^{19000}" * 200,
    "nested sums": r"\sum_{k=1}^{9}" * 300 + "k",
    "signs": r"\pm " * 20 + "1",
    "list": "1," * 3_000 + "1",
    "set": r"\{" + ",".join(f"x+{i}" for i in range(64)) + r"\}",
    "set of sines": r"\{" + ",".join(f"\\sin({i}x)" for i in range(64)) + r"\}",
    "unions": r"\cup".join(f"(x+{i},x+{i + 1})" for i in range(60)),
    "dollars": "$" * 8_000,
    "backslashes": "\\" * 7_999,
    "stars": "*" * 8_000,
    "spaces": "** " + " " * 7_000 + "*",
    "openings": r"\[" * 3_900,
    "thousands": "1,000" * 1_600,
    "bars": "|x" * 3_000,
    "percents": "5" + "%" * 5_000,
    "texts": r"\text{" * 39 + "a" + "}" * 39,
    "metres": "5" + " m" * 2_000,
    "powers of a unit": r"5 \text{ m}" + "^2" * 1_000,
    "wide matrix": r"\begin{pmatrix}" + r"1&2&3\\" * 700 + r"1&2&3\end{pmatrix}",
    "nested matrices": r"\begin{pmatrix}" * 39 + "1" + r"\end{pmatrix}" * 39,
    "product of matrices": r"\begin{pmatrix}x&1\\1&x\end{pmatrix}" * 60,
    "nested determinants": (r"\begin{vmatrix}1&2\\" * 30) + "x&1" + (r"\end{vmatrix}&1" * 30),
    "systems": r"\left\{\begin{array}" * 400 + r"\right.",
    "chain": "x=" * 2_000 + "5",
    "arrows": r"x\to " * 1_500,
    "prose": "the answer is " * 500,
    "prose with numbers": "is 3 and " * 800,
    "repeating": r"0.\overline{" + "7" * 900 + "}",
    "running": "0." + "12" * 450 + "...",
    "combining marks": "5" + "\u0301" * 7_000,
    "null byte": "5\x00",
    "null bytes": "\x00" * 1_000,
    "reversed": "\u202e5",
    "surrogate": "\ud800",
}
GOLDS = ["5", "x^2+1", r"\{x+1, x+2\}", "(0, 1)"]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("gold", GOLDS)
def test_a_hostile_answer_is_wrong_soon(name: str, gold: str) -> None:
    verify.warm()
    started = time.monotonic()
    verdict = verify.verify(gold, HOSTILE[name])
    assert verdict.equal is False
    assert time.monotonic() - started < soon()


def test_a_child_that_does_not_answer_is_killed_and_replaced() -> None:
    """The limit is the parent's: no signal, and the next comparison is served."""
    verify.warm()
    verdict = verify.verify(r"\sin x", HOSTILE["sums of sines"], time_limit_s=0.001)
    assert verdict == Verdict(False, "too_expensive: no result within 0.001 s")
    assert verify.verify(r"\sin^2 x", r"1-\cos^2 x").equal is True


def test_without_a_warm_child_and_in_little_memory() -> None:
    """A fresh process: the first verdict starts the child; all of them together stay small."""
    code = (
        "import json, resource, sys, time\n"
        "from cascade_rl_math import verify\n"
        "slowest = 0\n"
        "for answer in json.load(sys.stdin):\n"
        "    started = time.monotonic()\n"
        "    assert verify.verify('x^2+1', answer).equal is False\n"
        "    slowest = max(slowest, time.monotonic() - started)\n"
        "verify.close()\n"
        # ru_maxrss of this process would count what its parent held before the exec
        "own = next(s for s in open('/proc/self/status') if s.startswith('VmHWM')).split()[1]\n"
        "children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print(slowest, (int(own) + children) / 1024)\n"
    )
    chosen = ("sums of sines", "tower", "digits", "braces", "nested expansion", "products",
              "products of roots", "wide matrix", "set of sines", "null bytes")  # fmt: skip
    answers = [r"\sin(10^{19000})", *map(HOSTILE.__getitem__, chosen)]
    ran = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(answers),
        capture_output=True,
        text=True,
        check=True,
    )
    slowest, megabytes = map(float, ran.stdout.split())
    assert slowest < soon()
    assert megabytes < 300


def test_any_thread_gets_verdicts() -> None:
    """A burst on four threads: waiting for the child is not counted in anybody's limit."""
    pairs = [(r"\sin^2 x", r"1-\cos^2 x"), ("4", "4"), ("x^2-4x", "x(x-4)"), ("1/2", "0.5")] * 50
    with ThreadPoolExecutor(4) as threads:
        verdicts = list(threads.map(lambda pair: verify.verify(*pair).equal, pairs))
    assert verdicts == [True] * 200


def test_verdicts_repeat() -> None:
    pairs = [(gold, answer) for gold in GOLDS for answer in list(HOSTILE.values())[:60:6]]
    first = [verify.verify(*pair) for pair in pairs]
    # A limit of time may fall either way; whether the answer is paid may not.
    again = [verify.verify(*pair) for pair in pairs]
    assert [verdict.equal for verdict in again] == [verdict.equal for verdict in first]


def test_a_gold_too_large_to_evaluate_still_equals_itself() -> None:
    tower = "10^{10^{10}}"
    assert verify.verify(tower, tower) == Verdict(True, "text")
    assert verify.verify(tower, tower + "+1").equal is False
