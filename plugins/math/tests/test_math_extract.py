"""Which text counts as the answer."""

from __future__ import annotations

import pytest

from cascade_rl.types import Completion, Prompt
from cascade_rl_math.extract import last_box
from cascade_rl_math.judge import find_answer
from cascade_rl_math.options import Judging


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (r"so \boxed{5}", "5"),
        (r"\boxed{12} is wrong; \boxed{7}", "7"),
        (r"\boxed{12 cm} or rather \boxed{7}", "7"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{ \{1, 2\} }", r"\{1, 2\}"),
        (r"\fbox{x+1}", "x+1"),
        (r"\boxed {3}", "3"),
        (r"\boxed{x = \boxed{4}}", "4"),
        ("I will mark it with \\boxed at the end.\nThus \\boxed{19}", "19"),
        (r"$\boxed{1}$, $\boxed{2}$ and $\boxed{3}$", "1, 2, 3"),
        (r"\boxed{1} or \boxed{2}", r"1 \text{ or } 2"),
        (r"\boxed{x=1} \quad \text{and} \quad \boxed{x=2}", "x=1, x=2"),
        (r"\boxed{5}, \boxed{5}", "5"),
        (r"\boxed{1} no no no \boxed{2}", "2"),
        ("\\boxed{12}\n\n\\boxed{7}", "7"),
        (r"\boxed{185\}", "185"),
        (r"\boxed{x^{2}\}.", "x^{2}"),
        (r"\boxed{1} papers and \boxed{2} bins", "2"),
    ],
)
def test_the_last_box_is_the_answer(reply: str, answer: str) -> None:
    assert last_box(reply).answer == answer


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("The answer is 5.", r"no answer: no \boxed{...} in the reply"),
        ("", r"no answer: no \boxed{...} in the reply"),
        (r"\boxed 5", r"no answer: no \boxed{...} in the reply"),
        (r"\boxed{}", r"no answer: the last \boxed{} is empty"),
        (r"\boxed{  }", r"no answer: the last \boxed{} is empty"),
        (r"\boxed{3} and \boxed{4", r"no answer: the last \boxed{ is never closed"),
        (r"\boxed{\{1, 2\}", r"no answer: the last \boxed{ is never closed"),
        ("\\boxed{" * 50_000, r"no answer: the last \boxed{ is never closed"),
    ],
)
def test_without_a_closed_box_there_is_no_answer(reply: str, reason: str) -> None:
    found = last_box(reply)
    assert (found.answer, found.reason) == (None, reason)


@pytest.mark.parametrize(
    ("mode", "reply", "answer"),
    [
        ("think", r"<think>\boxed{4}</think>\boxed{5}", "5"),
        ("think", r"<think>\boxed{4}</think>so it is", None),
        ("think", r"\boxed{4}</think>\boxed{5}</think>\boxed{6}", "6"),
        ("think", r"<think>it is \boxed{5}", None),
        ("think", r"\boxed{5}", None),
        ("none", r"\boxed{5}", "5"),
        ("no_think", r"\boxed{5}", "5"),
        ("none", r"<think>\boxed{4}</think>\boxed{5}", "5"),
    ],
)
def test_thoughts_are_not_the_reply(mode: str, reply: str, answer: str | None) -> None:
    prompt = Prompt.from_text("p", "?", mode=mode)
    assert find_answer(prompt, Completion(text=reply), Judging()).answer == answer


def test_thoughts_never_closed_is_said() -> None:
    prompt = Prompt.from_text("p", "?", mode="think")
    found = find_answer(prompt, Completion(text=r"<think>\boxed{5}"), Judging())
    assert found.reason == "no answer: thoughts were never closed"
