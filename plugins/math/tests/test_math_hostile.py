"""Whatever an answer holds: a verdict, soon, from any thread, and never an exception."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cascade_rl.types import Completion, Prompt
from cascade_rl_math import Options, reward, verify
from cascade_rl_math.layers import Verdict

#: Seconds: the limit of the child, and room for a slow and busy machine.
SOON = 2.5

HOSTILE = {
    "tower": "9^{9^{9^{9}}}",
    "tower in a tree": r"\frac{7^{\left(7^{\left(7^{7}\right)}\right)}-7}{6}",
    "symbolic tower": "x^{x^{x^{x^{x^{x}}}}}",
    "power of a variable": "x^{9^{9^{9}}}",
    "factorials": "((x!)!)!",
    "huge factorial": "(10^{9})!",
    "huge binomial": r"\binom{10^9}{10^8}",
    "digits": "7" * 10**5,
    "exponent": "1e999999999",
    "braces": "{" * 10**4 + "}" * 10**4,
    "open braces": "{" * 3_000,
    "parentheses": "(" * 3_000 + ")" * 3_000,
    "fractions": r"\frac{1}{" * 300 + "1" + "}" * 300,
    "roots": r"\sqrt" * 2_000 + "2",
    "functions": r"\sin " * 1_000 + "x",
    "exponentials": r"\exp(\exp(\exp(\exp(x))))",
    "sine of a giant": r"\sin(10^{19000})",
    "expansion": "(a+b+c+d+x+y)^{24}",
    "nested expansion": "((x+1)^{24}+1)^{24}",
    "long sum": "+".join(f"x^{{{i}}}" for i in range(900)),
    "harmonic sum": "+".join(f"1/{i}" for i in range(10_001, 11_100)),
    "products": "(2/3)^{19000}(3/2)^{19000}" * 200,
    "signs": r"\pm " * 20 + "1",
    "list": "1," * 3_000 + "1",
    "set": r"\{" + ",".join(f"x+{i}" for i in range(64)) + r"\}",
    "dollars": "$" * 8_000,
    "backslashes": "\\" * 7_999,
    "stars": "*" * 8_000,
    "spaces": "** " + " " * 7_000 + "*",
    "openings": r"\[" * 3_900,
    "thousands": "1,000" * 1_600,
    "bars": "|x" * 3_000,
    "percents": "5" + "%" * 5_000,
    "texts": r"\text{" * 39 + "a" + "}" * 39,
    "matrices": r"\begin{pmatrix}" * 39 + "1" + r"\end{pmatrix}" * 39,
    "chain": "x=" * 2_000 + "5",
    "null byte": "5\x00",
    "reversed": "\u202e5",
    "surrogate": "\ud800",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("gold", ["5", "x^2+1", r"\{x+1, x+2\}"])
def test_a_hostile_answer_is_wrong_soon(name: str, gold: str) -> None:
    verify.warm()
    started = time.monotonic()
    verdict = verify.verify(gold, HOSTILE[name])
    assert verdict.equal is False
    assert time.monotonic() - started < SOON


def test_a_child_that_does_not_answer_is_killed_and_replaced() -> None:
    """The limit is the parent's: no signal, and the next comparison is served."""
    verify.warm()
    powers = "+".join(f"x^{{{power}}}" for power in range(800))
    zero = f"\\frac{{x^{{800}}-1}}{{x-1}}-({powers})"
    verdict = verify.verify("0", zero, time_limit_s=0.01)
    assert verdict == Verdict(False, "too_expensive: no result within 0.01 s")
    assert verify.verify("x^2-4x", "x(x-4)").equal is True


def test_many_threads_share_one_child() -> None:
    """Waiting for the child is not counted against the comparison."""
    pairs = [(f"{n}x^2-{n}x", f"{n}x(x-1)") for n in range(2, 26)]
    with ThreadPoolExecutor(8) as threads:
        verdicts = list(threads.map(lambda pair: verify.verify(*pair), pairs))
    assert [verdict.equal for verdict in verdicts] == [True] * len(pairs)


def test_a_gold_too_large_to_evaluate_still_equals_itself() -> None:
    tower = "10^{10^{10}}"
    assert verify.verify(tower, tower) == Verdict(True, "text")
    assert verify.verify(tower, tower + "+1").equal is False


FRAGMENTS = st.sampled_from(
    [*"0123456789+-*/^_(){}[]|!%,;:=<>.xyzei$& \\", "\\frac", "\\sqrt", "\\{", "\\}", "\\text{",
     "\\pm", "\\cup", "\\infty", "\\le", "\\sin", "\\begin{pmatrix}", "\\end{pmatrix}", "\\\\",
     "\\setminus", " or ", "\\left", "\\binom", "\\log_", "^\\circ", "\\in", "\\boxed{", "..."]
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text(max_size=60))
@example("\\boxed{\ud800}")
def test_no_text_raises(text: str) -> None:
    prompt = Prompt.from_text("p", "?", ground_truth="x^2+1", mode="none")
    judged = reward(prompt, Completion(text=f"\\boxed{{{text}}}"), Options())
    assert judged.score in (0.0, 1.0)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(parts=st.lists(FRAGMENTS, max_size=14))
def test_no_latex_raises(parts: list[str]) -> None:
    answer = "".join(parts)
    assert verify.verify("x^2+1", answer).equal in (True, False)


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(FRAGMENTS, max_size=14))
def test_no_gold_raises_anything_but_bad_gold(parts: list[str]) -> None:
    with contextlib.suppress(verify.BadGold):
        assert verify.verify("".join(parts), "x^2+1").equal in (True, False)


WHOLE = st.integers(min_value=-(10**12), max_value=10**12)


@settings(max_examples=200, deadline=None)
@given(number=WHOLE)
def test_a_whole_number_equals_its_spellings_and_not_its_neighbour(number: int) -> None:
    for spelling in (f"{number}", f"{number:,}", f"{number}.0", f"${number}$", f"x={number}"):
        assert verify.verify(str(number), spelling).equal is True, spelling
    assert verify.verify(str(number), str(number + 1)).equal is False


@settings(max_examples=200, deadline=None)
@given(above=WHOLE, below=st.integers(min_value=2, max_value=10**6), factor=st.integers(2, 99))
def test_a_fraction_equals_its_multiples(above: int, below: int, factor: int) -> None:
    gold = f"\\frac{{{above}}}{{{below}}}"
    assert verify.verify(gold, f"{above * factor}/{below * factor}").equal is True
    assert verify.verify(gold, f"{above * factor + 1}/{below * factor}").equal is False


@settings(max_examples=150, deadline=None)
@given(number=st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-10**6,
                          max_value=10**6))  # fmt: skip
def test_a_decimal_equals_itself(number: object) -> None:
    assert verify.verify(str(number), str(number)).equal is True
    assert verify.verify(str(number), f"\\boxed{{{number}}}"[7:-1]).equal is True
