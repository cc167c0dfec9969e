"""Properties over generated expressions: sympy writes and judges them, and reads nothing."""

from __future__ import annotations

import contextlib
import math

import pytest
import sympy
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from cascade_rl.types import Completion, Prompt
from cascade_rl_math import Options, reward
from cascade_rl_math.verify import BadGold, verify

X, Y = sympy.symbols("x y")
QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SLOW = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])

NUMBERS = st.one_of(
    st.integers(-30, 30).map(sympy.Integer),
    st.tuples(st.integers(-30, 30), st.integers(2, 12)).map(lambda pair: sympy.Rational(*pair)),
)


def expressions(leaves: st.SearchStrategy, functions: bool) -> st.SearchStrategy:
    """Sums, products, quotients and powers; with functions also roots, sines, exponentials."""

    def grow(inner: st.SearchStrategy) -> st.SearchStrategy:
        pairs = st.tuples(inner, inner)
        grown = [
            pairs.map(lambda pair: pair[0] + pair[1]),
            pairs.map(lambda pair: pair[0] * pair[1]),
            inner.map(lambda one: one**2),
            st.tuples(inner, st.integers(2, 5)).map(lambda pair: pair[0] / (X + pair[1])),
        ]
        if functions:
            grown += [inner.map(f) for f in (sympy.sin, sympy.exp, lambda u: sympy.sqrt(u**2 + 1))]
        return st.one_of(grown)

    return st.recursive(leaves, grow, max_leaves=6)


RATIONAL = expressions(st.one_of(NUMBERS, st.sampled_from([X, Y])), functions=False)
ANY = expressions(st.one_of(NUMBERS, st.sampled_from([X, Y])), functions=True)
CONSTANT = expressions(
    st.one_of(NUMBERS, st.integers(2, 30).map(sympy.sqrt), st.just(sympy.pi)), functions=False
)
REWRITES = (sympy.expand, sympy.factor, sympy.together, sympy.cancel)


def value(expression: sympy.Expr) -> complex:
    return complex(expression.subs({X: sympy.Rational(37, 100), Y: sympy.Rational(121, 100)}).n(30))


def finite(expression: sympy.Expr) -> bool:
    if expression.has(sympy.zoo, sympy.nan, sympy.oo):
        return False
    return math.isfinite(abs(value(expression))) and abs(value(expression)) < 10**12


@SLOW
@given(expression=ANY)
def test_every_expression_equals_itself_and_its_neighbour_does_not(expression: sympy.Expr) -> None:
    assume(finite(expression))
    written = sympy.latex(expression)
    assert verify(written, written).equal is True
    assert verify(written, f"${written}$").equal is True
    assert verify(written, f"({written}) + 1").equal is False


@SLOW
@given(expression=RATIONAL, rewrite=st.sampled_from(REWRITES))
def test_rewriting_keeps_it_equal(expression: sympy.Expr, rewrite: object) -> None:
    assume(finite(expression))
    gold, answer = sympy.latex(expression), sympy.latex(rewrite(expression))  # type: ignore[operator]
    assert verify(gold, answer).equal is True, (gold, answer)
    assert verify(answer, gold).equal is True, (answer, gold)


@pytest.mark.parametrize(
    ("gold", "rewritten"),
    [
        (sympy.sin(X) ** 2, (1 - sympy.cos(2 * X)) / 2),
        (sympy.sin(X + Y), sympy.expand_trig(sympy.sin(X + Y))),
        (sympy.exp(X + Y), sympy.expand(sympy.exp(X) * sympy.exp(Y))),
        (1 / (1 + sympy.sqrt(2)), sympy.radsimp(1 / (1 + sympy.sqrt(2)))),
        (sympy.sqrt(5 + 2 * sympy.sqrt(6)), sympy.sqrtdenest(sympy.sqrt(5 + 2 * sympy.sqrt(6)))),
        (1 / (X**2 - 1), sympy.apart(1 / (X**2 - 1))),
        (sympy.cos(3 * X), sympy.expand_trig(sympy.cos(3 * X))),
        (sympy.log(8), 3 * sympy.log(2)),
        (sympy.binomial(X, 2), X * (X - 1) / 2),
        (sympy.cosh(X), (sympy.exp(X) + sympy.exp(-X)) / 2),
    ],
)
def test_rewriting_with_functions_keeps_it_equal(gold: sympy.Expr, rewritten: sympy.Expr) -> None:
    pair = sympy.latex(gold), sympy.latex(rewritten)
    assert verify(*pair).equal is True
    assert verify(*pair[::-1]).equal is True


@SLOW
@given(expression=st.one_of(RATIONAL, CONSTANT), which=st.integers(0, 20))
def test_changing_one_number_makes_it_unequal(expression: sympy.Expr, which: int) -> None:
    numbers = sorted(expression.atoms(sympy.Integer, sympy.Rational), key=str)
    assume(numbers)
    old = numbers[which % len(numbers)]
    changed = expression.subs(old, old + 1)
    assume(finite(expression) and finite(changed))
    assume(abs(value(expression) - value(changed)) > 1e-6 * max(1, abs(value(expression))))
    gold, answer = sympy.latex(expression), sympy.latex(changed)
    assert verify(gold, answer).equal is False, (gold, answer)


@SLOW
@given(one=ANY, other=ANY)
def test_equality_is_symmetric(one: sympy.Expr, other: sympy.Expr) -> None:
    assume(finite(one) and finite(other))
    gold, answer = sympy.latex(one), sympy.latex(other)
    assert verify(gold, answer).equal == verify(answer, gold).equal


MEMBERS = st.lists(st.integers(-99, 99), min_size=2, max_size=6, unique=True)


@QUICK
@given(members=MEMBERS, data=st.data())
def test_order_counts_in_tuples_alone(members: list[int], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(members))
    listed, again = (", ".join(map(str, each)) for each in (members, shuffled))
    assert verify(listed, again).equal is True
    assert verify(f"\\{{{listed}\\}}", again).equal is True
    assert verify(f"({listed})", f"({again})").equal is (members == shuffled)
    assert verify(listed, f"{again}, 100").equal is False
    assert verify(str(members[0]), listed).equal is False


WHOLE = st.integers(min_value=-(10**12), max_value=10**12)


@QUICK
@given(number=WHOLE)
def test_a_whole_number_equals_its_spellings_and_not_its_neighbour(number: int) -> None:
    spellings = (f"{number}", f"{number:,}", f"{number}.0", f"${number}$", f"x={number}",
                 f"\\text{{{number}}}", f"The answer is {number}.", f"{number} apples")  # fmt: skip
    for spelling in spellings:
        assert verify(str(number), spelling).equal is True, spelling
    assert verify(str(number), str(number + 1)).equal is False
    assert verify(str(number), f"{number} or {number + 1}").equal is False


@QUICK
@given(above=WHOLE, below=st.integers(min_value=2, max_value=10**6), factor=st.integers(2, 99))
def test_a_fraction_equals_its_multiples(above: int, below: int, factor: int) -> None:
    gold = f"\\frac{{{above}}}{{{below}}}"
    assert verify(gold, f"{above * factor}/{below * factor}").equal is True
    assert verify(gold, f"{above * factor + 1}/{below * factor}").equal is False


@QUICK
@given(number=st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-10**6,
                          max_value=10**6))  # fmt: skip
def test_a_decimal_equals_itself_and_no_hundredfold(number: object) -> None:
    assert verify(str(number), str(number)).equal is True
    if float(str(number)):
        assert verify(str(number), f"{float(str(number)) * 100:.4f}").equal is False


FRAGMENTS = st.sampled_from(
    [*"0123456789+-*/^_(){}[]|!%,;:=<>.xyzei$& \\", "\\frac", "\\sqrt", "\\{", "\\}", "\\text{",
     "\\pm", "\\cup", "\\cap", "\\infty", "\\le", "\\sin", "\\begin{pmatrix}", "\\end{pmatrix}",
     "\\\\", "\\setminus", " or ", "\\left", "\\binom", "\\log_", "^\\circ", "\\in", "\\boxed{",
     "...", "\\begin{cases}", "\\end{cases}", "\\sum_{k=1}^{n}", "\\mathbb{R}", "\\pmod{7}", " cm",
     "\\vec{", "\\overline{", "the answer is ", ". ", "**", "\\neq", "km/h", "\\mathbf{i}", "√"]
)  # fmt: skip


@QUICK
@given(text=st.text(max_size=60))
@example("\\boxed{\ud800}")
def test_no_text_raises(text: str) -> None:
    prompt = Prompt.from_text("p", "?", ground_truth="x^2+1", mode="none")
    for reply in (f"\\boxed{{{text}}}", text):
        judged = reward(prompt, Completion(text=reply), Options(unboxed="last_sentence"))
        assert judged.score in (0.0, 1.0)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(parts=st.lists(FRAGMENTS, max_size=14))
def test_no_latex_raises(parts: list[str]) -> None:
    assert verify("x^2+1", "".join(parts)).equal in (True, False)


@QUICK
@given(parts=st.lists(FRAGMENTS, max_size=14), answer=st.lists(FRAGMENTS, max_size=14))
def test_no_gold_raises_anything_but_bad_gold(parts: list[str], answer: list[str]) -> None:
    with contextlib.suppress(BadGold):
        assert verify("".join(parts), "".join(answer)).equal in (True, False)
    with contextlib.suppress(BadGold):
        gold = "".join(parts)
        assert verify(gold, gold).equal is True or "\\boxed" in gold or "too_exp" in str(gold)
