"""Thoughts in another language: -1, whatever the answer; and never by mistake."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from cascade_rl.types import Completion, Prompt, Reward
from cascade_rl_math import Options, language, reward

pytest.importorskip("py3langid", reason="the extra `language` is not installed")

CORPORA = Path(__file__).resolve().parents[3].parent / "shared" / "corpora"
ENGLISH = (
    "First we compute the value of the expression and square both sides of the equation, which"
    " gives $x^2 = 25$. Since the length must be positive, we take the larger root of the two."
)
OTHERS = {
    "zh": "我们首先计算这个表达式的值，然后把两边同时平方，得到一个新的方程，"
    "再取其中较大的那个根作为所求的长度。",
    "de": "Zuerst berechnen wir den Wert des Ausdrucks und quadrieren dann beide Seiten, womit wir"
    " eine neue Gleichung erhalten, deren größere Lösung die gesuchte Länge ist.",
    "fr": "D'abord on calcule la valeur de l'expression, puis on élève les deux membres au carré,"
    " ce qui donne une nouvelle équation dont la plus grande solution est la longueur cherchée.",
    "ru": "Сначала вычислим значение выражения, затем возведём обе части в квадрат и получим новое"
    " уравнение, больший корень которого и есть искомая длина отрезка.",
    "ja": "まず式の値を計算し、次に両辺を二乗して新しい方程式を得ます。"
    "その大きい方の根が求める長さになります。",
}


def judged(thoughts: str, answer: str = "5", gold: str = "5", **options: object) -> Reward:
    prompt = Prompt.from_text("p", "?", ground_truth=gold, mode="think")
    text = f"<think>{thoughts}</think>\\boxed{{{answer}}}"
    return reward(prompt, Completion(text=text), Options(language="en", **options))


@pytest.mark.parametrize("code", OTHERS)
def test_another_language_scores_minus_one_and_the_verdict_stays(code: str) -> None:
    right, wrong = judged(OTHERS[code]), judged(OTHERS[code], answer="6")
    assert (right.score, right.correct) == (-1.0, True)
    assert (wrong.score, wrong.correct) == (-1.0, False)
    assert right.components == {"correct": 1.0}
    assert right.reason == f"thoughts in another language ({code}); equal: text"


@pytest.mark.parametrize("code", OTHERS)
def test_a_switch_in_the_middle_is_found(code: str) -> None:
    assert judged(f"{ENGLISH} {OTHERS[code]} {ENGLISH}").score == -1.0


@pytest.mark.parametrize(
    "thoughts",
    [
        ENGLISH,
        ENGLISH * 20,
        "",
        "ok",
        "also: x = 5",
        "Zuerst, 3+4=7.",  # too short to be sure of
        "我们",
        r"$\alpha + \beta = \gamma$, $$\int_0^1 x\,dx$$, \[ \sum_{k=1}^n k \] " * 30,
        "7+8+0=15;1+0+1=2" * 50,
        "AB = CD, AC = BD, ABCD, EFGH, ABC, DEF, GHI, " * 20,
        "```python\nfor i in range(10):\n    print(i)\n```" * 10,
        f"{ENGLISH} We call it the Eigenwert, or valeur propre.",
    ],
)
def test_english_formulas_and_short_thoughts_are_not_punished(thoughts: str) -> None:
    assert judged(thoughts).score == 1.0


def test_without_the_option_nothing_is_punished() -> None:
    prompt = Prompt.from_text("p", "?", ground_truth="5", mode="think")
    text = f"<think>{OTHERS['zh']}</think>\\boxed{{5}}"
    assert reward(prompt, Completion(text=text), Options()).score == 1.0


def test_another_expected_language() -> None:
    prompt = Prompt.from_text("p", "?", ground_truth="5", mode="think")
    for thoughts, score in ((OTHERS["de"], 1.0), (ENGLISH, -1.0)):
        completion = Completion(text=f"<think>{thoughts}</think>\\boxed{{5}}")
        assert reward(prompt, completion, Options(language="de")).score == score


def test_an_unscored_prompt_stays_unscored() -> None:
    assert judged(OTHERS["zh"], gold="see the figure").status == "bad_prompt"


def test_open_thoughts_are_no_answer_and_not_punished_twice() -> None:
    prompt = Prompt.from_text("p", "?", ground_truth="5", mode="think")
    open_end = Completion(text=f"<think>{OTHERS['zh']}")
    assert reward(prompt, open_end, Options(language="en")).score == 0.0


def test_a_missing_package_is_told_when_the_options_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(language, "is_installed", lambda: False)
    with pytest.raises(ValueError, match=r"needs the package py3langid;\s+pip install 'cascade-rl"):
        Options(language="en")
    assert Options().language is None


def test_english_solutions_are_never_punished() -> None:
    path = CORPORA / "math_solutions.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no reference corpora at {CORPORA}")
    with gzip.open(path, "rt") as rows:
        texts = [json.loads(row)["pred"] for row in rows]
    found = [language.other_language(text, "en", 80) for text in [*texts, "\n".join(texts)]]
    assert set(found) == {None}
