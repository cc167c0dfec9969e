"""Faults that people reported of maths verifiers, each as its kind: the right value is the test.

The numbers are those of ``../shared/cases/public_reports.jsonl``. Where the right value is a
policy rather than a fact (18, 19, 45, 58, and the limits), the README says what was chosen.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cascade_rl.types import Completion, Prompt, Reward
from cascade_rl_math import Options, load_prompts, reward, verify

EPILOGUE = "The work above was reviewed once more. " * 12


def judged(gold: object, reply: str, unboxed: str = "never") -> Reward:
    prompt = Prompt.from_text("p", "?", ground_truth=gold)
    boxed = "\\boxed" in reply or unboxed != "never"
    text = reply if boxed else f"\\boxed{{{reply}}}"
    return reward(prompt, Completion(text=text), Options(unboxed=unboxed))


VERDICTS = [
    # (number, gold, reply, equal)
    (2, "7", r"\boxed{12 cm} or rather \boxed{7}", True),
    (2, "12", r"\boxed{12 cm} or rather \boxed{7}", False),
    (3, "2*x-5*y+9=0", "7x + 1y - 4=0", False),
    (3, "2*x-5*y+9=0", "5y = 2x + 9", True),
    (5, r"$\frac{1}{1500!}$", r"$\frac{1}{1501!}$", False),
    (5, r"$\frac{1}{1500!}$", r"$\frac{1501}{1501!}$", True),
    (8, "$n=4, 6, 9$", "$n=3, 4, 6$", False),
    (10, r"$\pm 17$", "$17$", False),
    (12, "$f(x)=0$", r"$\forall x>1, f(x)=0$", False),
    (13, r"$\sqrt{\frac{1}{m}}$", r"$\frac{1}{\sqrt{m}}$", True),
    (15, "$3x-6y+12=0$", r"$y=\frac{1}{2}x+2$", True),
    (17, r"$\frac{x^2}{9}+\frac{y^2}{4}=1$", r"$\frac{x^2}{36}+\frac{y^2}{16}=1$", False),
    (18, "$(0, 7.5)$", "$0 < t < 7.5$", True),
    (19, "$0 < t < 7.5$", "$(0, 7.5)$", True),
    (21, "$58$", "**58**", True),
    (24, "$16$", r"\boxed{\frac{7^{\left(7^{\left(7^{7}\right)}\right)}-7}{6}}", False),
    (26, "(3,8)", "(3,8)", True),
    (28, "$[1,6)$", "$[1,6)$", True),
    (28, "$[1,6)$", "$(1,6)$", False),
    (28, "$[1,6)$", "$[1,6]$", False),
    (29, "$3,-1,8$", "$8, 3, -1$", True),
    (30, "$(1,2)$", "$(2,1)$", False),
    (31, "$43_7$", "$43_{7}$", True),
    (31, "$43_7$", "$43_8$", False),
    (32, "19", "I will mark my solution with \\boxed at the end.\nThus \\boxed{19}", True),
    (34, "-18", "The change is -18.", True),
    (34, "-18", "The change is 18.", False),
    (34, "18", "The change is -18.", False),
    (35, "1450", "The total is $1,450.00", True),
    (35, "1450", r"The total is \$1,450.00", True),
    (37, "30", "A first try gives answer: 15, wrong as it skips Sunday.\nAnswer: 30", True),
    (46, "5", r"\boxed{__import__('os').getpid()}", False),
    (51, r"$\frac{7}{12}$", "$0.583333333333$", True),
    (51, r"$\frac{7}{12}$", "$0.58$", False),
    (52, r"$\csc^2(t)$", r"$1+\cot^2(t)$", True),
    (54, r"$a=3 \text{ or } a=-4$", "$a=-4$ or $a=3$", True),
    (54, r"$a=3 \text{ or } a=-4$", "$a=3$", False),
    (56, "$x^2-4x$", "$x(x-4)$", True),
    (57, "$k(c+d)$", r"$k\left(c + d\right)$", True),
]


@pytest.mark.parametrize(("number", "gold", "reply", "equal"), VERDICTS)
def test_verdict(number: int, gold: str, reply: str, equal: bool) -> None:
    verdict = judged(gold, reply)
    assert (verdict.correct, verdict.status) == (equal, "scored"), verdict.reason


def test_17_a_different_ellipse_was_compared() -> None:
    reason = judged(r"\frac{x^2}{9}+\frac{y^2}{4}=1", r"\frac{x^2}{36}+\frac{y^2}{16}=1").reason
    assert reason == "unequal: symbolic, equation"


@pytest.mark.parametrize(
    ("number", "reply", "extracted"),
    [
        (21, "Check: 12 + 2*23 = 12 + 46 = 58\nAll consistent.\n\nFinal Answer: **58**", "58"),
        (33, f"8*8=64\n#### 64\n{EPILOGUE}", "64"),
        (37, "A first try gives answer: 15, which skips Sunday.\nAnswer: 30", "30"),
    ],
)
def test_what_is_extracted_after_a_marker(number: int, reply: str, extracted: str) -> None:
    found = judged(extracted, reply, unboxed="marked")
    assert (found.extracted, found.score) == (extracted, 1.0)


@pytest.mark.parametrize(
    ("gold", "correct"), [("27.40%", True), ("0.274", True), ("2740", False), ("40", False)]
)
def test_36_a_decimal_percentage_is_read_whole(gold: str, correct: bool) -> None:
    found = judged(gold, "Growth over the year came to 27.40%", unboxed="last_sentence")
    assert (found.extracted, found.correct) == ("27.40%", correct)


def test_24_a_tower_takes_no_time_and_the_next_request_is_served() -> None:
    started = time.monotonic()
    tower = judged("16", r"\boxed{\frac{7^{\left(7^{\left(7^{7}\right)}\right)}-7}{6}}")
    assert tower.reason.startswith("too_expensive: ")
    assert judged(r"\sin^2 x", r"1-\cos^2 x").correct is True
    assert time.monotonic() - started < 5


def test_25_another_thread_gets_the_same_verdict_with_a_limit_that_works() -> None:
    found: list[Reward] = []
    work = threading.Thread(target=lambda: found.append(judged("$21$", "$21$")))
    work.start()
    work.join()
    assert found[0].correct is True


@pytest.mark.parametrize(
    "gold", [r"\text{Monday}", "[1,6)", r"\begin{pmatrix}4\\-3\end{pmatrix}", "3,-1,8", "43_7"]
)
def test_27_a_gold_equals_itself(gold: str) -> None:
    assert judged(gold, gold).correct is True


def test_39_a_gold_that_cannot_be_read_pays_nobody_and_is_found_at_load(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = judged("see the figure", r"\boxed{5}")
    assert (bad.score, bad.status) == (None, "bad_prompt")
    rows = tmp_path / "p.jsonl"
    rows.write_text('{"problem": "a", "answer": "see the figure"}\n{"problem": "b", "answer": 5}\n')
    with caplog.at_level(logging.WARNING, logger="cascade_rl_math"):
        prompts = load_prompts("train", Options(source="problem_answer", path=str(rows)))
    assert [prompt.ground_truth for prompt in prompts] == ["5"]
    assert "dropped 1 rows, answers that cannot be verified: " in caplog.messages[0]


def test_40_nothing_does_not_equal_nothing() -> None:
    nothing = judged("", "no tags here", unboxed="last_sentence")
    assert (nothing.score, nothing.status) == (0.0, "scored")
    assert judged("", r"\boxed{5}").status == "bad_prompt"


def test_42_an_answer_is_not_cut_to_its_first_character() -> None:
    shown = [judged("281", f"\\boxed{{{answer}}}").extracted for answer in ("264", "281", "281")]
    assert shown == ["264", "281", "281"]


@pytest.mark.parametrize(
    ("gold", "answer", "correct"),
    [(0.333333, r"\frac{1}{3}", True), (0.333333, "0.333333", True), (0.333333, "0.34", False)],
)
def test_45_a_number_is_read_as_it_is_written(gold: object, answer: str, correct: bool) -> None:
    assert judged(gold, answer).correct is correct


@pytest.mark.parametrize("gold", [None, True, ["1"], {"answer": "1"}])
def test_45_any_other_type_is_named(gold: object) -> None:
    bad = judged(gold, "1")
    assert bad.status == "bad_prompt"
    assert bad.reason == f"ground_truth is a {type(gold).__name__}; text or a number is read"


def test_55_an_unbalanced_bracket_is_unparsed() -> None:
    assert judged("$5$", "$(7-2)(4-9$").reason == "unparsed: a bracket never closes"


@pytest.mark.parametrize("gold", ["7", "8"])
def test_58_an_answer_that_contradicts_itself_is_ambiguous(gold: str) -> None:
    for unboxed in ("last_sentence", "never"):
        text = "I count 7, or maybe 8."
        verdict = judged(gold, text, unboxed=unboxed)
        assert verdict.score == 0.0
        assert verdict.reason.startswith("ambiguous: ")


def test_59_waiting_for_the_child_is_not_counted() -> None:
    """200 comparisons from 4 threads through one child, each with its own half second."""
    verify.warm()
    with ThreadPoolExecutor(4) as threads:
        done = threads.map(lambda _: judged(r"\tan^2 y + 1", r"\sec^2 y").correct, range(200))
    assert list(done) == [True] * 200
