"""What a stage or one prompt may choose: order, units, precision, percent, letters, boxes."""

from __future__ import annotations

import pytest

from cascade_rl.errors import DataError
from cascade_rl.types import Completion, Prompt, Reward
from cascade_rl_math import Options, load_prompts, reward
from cascade_rl_math.options import Judging


def judged(gold: str, reply: str, own: object = None, **options: object) -> Reward:
    metadata = {} if own is None else {"verify": own}
    prompt = Prompt.from_text("p", "?", ground_truth=gold, metadata=metadata)
    text = reply if "\\boxed" in reply or options.get("unboxed") else f"\\boxed{{{reply}}}"
    return reward(prompt, Completion(text=text), Options(**options))


CHOICES = [
    # (choice, gold, answer, verdict without it, verdict with it)
    ({"order": "required"}, "1, 2", "2, 1", 1, 0),
    ({"order": "required"}, "1, 2", "1, 2", 1, 1),
    ({"order": "required"}, r"\{1, 2\}", r"\{2, 1\}", 1, 0),
    ({"order": "ignored"}, "(1, 2)", "(2, 1)", 0, 1),
    ({"order": "ignored"}, "(1, 2)", "(1, 3)", 0, 0),
    ({"units": "required"}, r"5\text{ cm}", "5", 1, 0),
    ({"units": "required"}, r"5\text{ cm}", "5 cm", 1, 1),
    ({"units": "required"}, r"5\text{ cm}", "50 mm", 1, 1),
    ({"units": "required"}, "5", "5 cm", 1, 1),
    ({"units": "required"}, r"45^\circ", "45", 1, 0),
    ({"units": "required"}, r"45^\circ", r"45^\circ", 1, 1),
    ({"precision": 2}, r"\sqrt{2}", "1.41", 0, 1),
    ({"precision": 2}, r"\sqrt{2}", "1.42", 0, 0),
    ({"precision": 2}, r"\frac{1}{3}", "0.33", 0, 1),
    ({"precision": 2}, "0.333", "1/3", 1, 1),
    ({"precision": 0}, "17.3", "17", 0, 1),
    ({"precision": 4}, "3.14", r"\pi", 1, 0),
    ({"percent": "strict"}, r"25\%", "25", 1, 0),
    ({"percent": "strict"}, r"25\%", "0.25", 1, 1),
    ({"percent": "strict"}, r"25\%", "25%", 1, 1),
    ({"percent": "strict"}, "28", r"28\%", 1, 0),
    ({"choices": True}, "B", "b", 0, 1),
    ({"choices": True}, "B", "(b) 12", 0, 1),
    ({"choices": True}, "B", "c", 0, 0),
    ({"choices": True}, "C, D", "CD", 0, 1),
    ({"choices": True}, "C, D", "D and C", 1, 1),
    ({"choices": True}, "C, D", "C", 0, 0),
    ({"choices": True}, "x^2", "x*x", 1, 1),
]


@pytest.mark.parametrize(("choice", "gold", "answer", "without", "given"), CHOICES)
def test_a_choice_of_the_stage_and_of_one_prompt(
    choice: dict[str, object], gold: str, answer: str, without: int, given: int
) -> None:
    assert judged(gold, answer).score == without
    assert judged(gold, answer, **choice).score == given
    assert judged(gold, answer, own=choice).score == given


def test_a_prompt_overrides_its_stage() -> None:
    assert judged("1, 2", "2, 1", order="required").score == 0
    assert judged("1, 2", "2, 1", own={"order": "as_written"}, order="required").score == 1


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ({"order": "any"}, "metadata 'verify', field 'order': Input should be 'as_written'"),
        ({"ordered": True}, "metadata 'verify', field 'ordered': Extra inputs are not permitted"),
        ("strict", "metadata 'verify' is \"strict\"; an object with these is read: order, units"),
        ({"path": "/etc/passwd"}, "metadata 'verify', field 'path': Extra inputs"),
    ],
)
def test_a_choice_that_does_not_exist_is_a_bad_prompt(own: object, reason: str) -> None:
    bad = judged("5", "5", own=own)
    assert (bad.status, bad.score) == ("bad_prompt", None)
    assert bad.reason.startswith(reason)


def test_rows_may_carry_choices(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "p.jsonl"
    path.write_text('{"problem": "a?", "answer": "1, 2", "verify": {"order": "required"}}\n')
    options = Options(source="problem_answer", path=str(path))
    (prompt,) = load_prompts("train", options)
    assert reward(prompt, Completion(text=r"<think></think>\boxed{2, 1}"), options).score == 0
    path.write_text('{"problem": "a?", "answer": "1", "verify": {"order": "random"}}\n')
    with pytest.raises(DataError, match=r"p\.jsonl:1: metadata 'verify', field 'order'"):
        load_prompts("train", options)


def test_what_a_request_may_set() -> None:
    """Everything about judging and nothing about files, networks or processes."""
    remote = {
        name
        for name, field in Options.model_fields.items()
        if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("remote")
    }
    assert remote == set(Judging.model_fields)


@pytest.mark.parametrize(
    ("unboxed", "reply", "score", "extracted"),
    [
        ("never", "The answer is 5.", 0, None),
        ("marked", "The answer is 5.", 1, "5"),
        ("marked", "First 3. Then the answer is $5$. Done.", 1, "$5$"),
        ("marked", "#### 5\n" + "All of it was checked once more. " * 20, 1, "5"),
        ("marked", "So we find 5.", 0, None),
        ("last_sentence", "So we find 5.", 1, "5"),
        ("last_sentence", "We had 3 of them. So we find 5.", 1, "5"),
        ("last_sentence", "I count 5, or maybe 6.", 0, None),
        ("last_sentence", r"It might be 4. \boxed{5}", 1, "5"),
        ("last_sentence", r"\boxed{5} so the answer is 6", 1, "5"),
        ("last_sentence", r"the answer is 5 \boxed{}", 0, None),
        ("last_sentence", "no idea", 0, None),
        ("last_sentence", "", 0, None),
    ],
)
def test_answers_without_a_box(unboxed: str, reply: str, score: int, extracted: str | None) -> None:
    prompt = Prompt.from_text("p", "?", ground_truth="5")
    verdict = reward(prompt, Completion(text=reply), Options(unboxed=unboxed))
    assert (verdict.score, verdict.extracted) == (score, extracted)


def test_without_a_box_the_thoughts_still_do_not_count() -> None:
    prompt = Prompt.from_text("p", "?", ground_truth="5", mode="think")
    options = Options(unboxed="last_sentence")
    for text, score in [
        ("<think>the answer is 5", 0),
        ("<think>the answer is 5</think>hm", 0),
        ("<think>the answer is 4</think>the answer is 5", 1),
    ]:
        assert reward(prompt, Completion(text=text), options).score == score


def test_an_unreadable_answer_may_be_left_unscored() -> None:
    assert judged("5", "(7-2)(4-9").score == 0
    left = judged("5", "(7-2)(4-9", abstain_unparsed=True)
    assert (left.score, left.status) == (None, "abstained")
    assert left.reason == "unparsed: a bracket never closes"


@pytest.mark.parametrize("answer", ["6", "9^{9^{9^{9}}}", "5 or 6", "It is 5, or maybe 6."])
def test_abstaining_is_no_way_out(answer: str) -> None:
    """Wrong, hedged and too dear answers are wrong with the option too."""
    assert judged("5", answer, abstain_unparsed=True).score == 0


def test_without_an_answer_there_is_nothing_to_abstain_from() -> None:
    prompt = Prompt.from_text("p", "?", ground_truth="5")
    assert reward(prompt, Completion(text="hm"), Options(abstain_unparsed=True)).score == 0
