"""Faults that users of other verifiers reported in public, each with the right verdict here.

The inputs are ours; each test stands for a kind of fault.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest

from cascade_rl.types import Completion, Prompt
from cascade_rl_ifeval import reward
from cascade_rl_ifeval.instructions import INSTRUCTIONS
from cascade_rl_ifeval.labels import parse_label

WORDS = "length_constraints:number_words"
BULLETS = "detectable_format:number_bullet_lists"


def score(response, *asked, text="Do it."):
    truth = {
        "instruction_id_list": [name for name, _ in asked],
        "kwargs": [arguments for _, arguments in asked],
    }
    return reward(Prompt.from_text("p", text, ground_truth=truth), Completion(text=response))


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_01_an_unknown_id_is_never_followed():
    result = score("anything", ("keywords:existence_v9", {}))
    assert (result.score, result.status) == (None, "bad_prompt")
    assert "keywords:existence_v9" in result.reason
    assert len(INSTRUCTIONS) == 25


@pytest.mark.parametrize(
    ("response", "expected"),
    [("Elm.", 0), ("Well. Name one tree. Elm.", 0), ("", 0), ("name ONE tree. Elm.", 1)],
)
def test_02_the_request_to_repeat_is_checked_at_the_start(response, expected):
    asked = ("combination:repeat_prompt", {"prompt_to_repeat": "Name one tree."})
    assert score(response, asked).score == expected


def test_04_an_id_that_occurs_twice_is_checked_twice():
    twelve, three = ({"relation": "at least", "num_words": n} for n in (12, 3))
    result = score("red blue green", (WORDS, twelve), (WORDS, three))
    assert result.score == 0
    assert result.components == {
        "strict": 0.0, "loose": 0.0, f"0:{WORDS}": 0.0, f"1:{WORDS}": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("response", "expected"), [("* a\n* b", 1), ("* a\n* b\n* c", 0), ("* a", 0)]
)
def test_05_bullets_are_counted_exactly(response, expected):
    assert score(response, (BULLETS, {"num_bullets": 2})).score == expected


def test_08_a_prompt_that_disagrees_with_its_label_is_flagged_and_scored_by_the_label():
    asked = (WORDS, {"relation": "at least", "num_words": 30})
    result = score("word " * 40, asked, text="Write 50 words or more about tea.")
    assert result.score == 1
    assert "the prompt says 50 words, kwargs say 30" in result.reason
    result = score("word " * 20, asked, text="Write fifty+ things; at least 50 words.")
    assert result.score == 0
    assert "data lint" in result.reason
    assert "data lint" not in score("word", asked, text="Write 30 words about tea.").reason


def test_09_a_forbidden_word_inside_a_longer_one_is_allowed():
    asked = ("keywords:forbidden_words", {"forbidden_words": ["ill"]})
    assert score("The hill was green.", asked).score == 1
    assert score("He felt ill.", asked).score == 0


@pytest.mark.parametrize(
    ("response", "expected"),
    [("Lunch cost $9.", 0), ("I like C++ best.", 0), ("C++", 0), ("Lunch cost 9 dollars.", 1)],
)
def test_10_forbidden_terms_may_begin_or_end_with_a_sign(response, expected):
    asked = ("keywords:forbidden_words", {"forbidden_words": ["$9", "C++"]})
    assert score(response, asked).score == expected


def test_12_a_bold_line_is_no_bullet():
    assert score("**Plan**\n* buy rope\n* tie it", (BULLETS, {"num_bullets": 2})).score == 1
    assert score("**Plan**\n**Rope**", (BULLETS, {"num_bullets": 2})).score == 0


def test_14_labels_in_json_and_as_python_literals():
    right = {"func_name": "x", "N": None}
    assert parse_label('{"func_name": "x", "N": null}') == right
    assert parse_label("{'func_name': 'x', 'N': None}") == right
    with pytest.raises(ValueError, match="neither JSON nor a Python literal"):
        parse_label("func_name=x")


COLD_START = """
import json, sys, threading
from cascade_rl_ifeval.verifier import judge, requirements
assert "langdetect" not in sys.modules
text = {text!r}
asked = requirements(
    {{"instruction_id_list": ["language:response_language"], "kwargs": [{{"language": "de"}}]}}
)
start, answers = threading.Barrier(8), []
def work():
    start.wait()
    answers.append(judge(text, asked)[0].strict)
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(json.dumps(answers))
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Guten Morgen zusammen, wir gehen heute gemeinsam in den Wald.", True),
        ("Good morning, all of us will walk to the forest together today.", False),
    ],
)
def test_15_the_language_detector_is_safe_on_a_cold_start_from_eight_threads(text, expected):
    assert run(COLD_START.format(text=text)) == [expected] * 8


def test_16_nothing_is_fetched_while_scoring(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a network call")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    sentences = {"num_sentences": 2, "relation": "at least"}
    asked = [
        ("length_constraints:number_sentences", sentences),
        (
            "change_case:capital_word_frequency",
            {"capital_frequency": 1, "capital_relation": "at least"},
        ),
        ("language:response_language", {"language": "en"}),
    ]
    assert score("I walk to the forest. You walk to the sea.", *asked).score == 1


ONE_RANK = """
import json
from cascade_rl_ifeval.verifier import judge, requirements
from cascade_rl_ifeval.tokenise.sentences import count_sentences
from cascade_rl_ifeval.language import detect
text = "Dr. Lee met J. Smith at 9 a.m. in St. Paul. They left... No? Yes!"
print(json.dumps([count_sentences(text), detect(text)]))
"""


def test_17_four_ranks_at_once_give_the_same_scores():
    ranks = [
        subprocess.Popen([sys.executable, "-c", ONE_RANK], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    answers = [json.loads(rank.communicate(timeout=60)[0]) for rank in ranks]
    assert answers == [[3, "en"]] * 4


@pytest.mark.parametrize(
    ("response", "bullets"), [("* buy **fresh** milk\n  - two litres", 2), ("* part-time help", 1)]
)
def test_18_signs_inside_a_bullet_line_count_for_nothing(response, bullets):
    assert score(response, (BULLETS, {"num_bullets": bullets})).score == 1
    assert score(response, (BULLETS, {"num_bullets": bullets + 1})).score == 0


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ('{"n": 3}', 1),
        ('```json\n{"n": 3}\n```', 1),
        ('```\n{"n": 3}\n```', 1),
        ('```json\n{"n": 3}\n```\nThat is all', 0),
        ('Here: ```json\n{"n": 3}\n```', 0),
    ],
)
def test_19_the_whole_reply_is_json_in_one_fence_at_most(response, expected):
    assert score(response, ("detectable_format:json_format", {})).score == expected


@pytest.mark.parametrize(
    ("response", "expected"), [("PART\na\nPART\nb", 0), ("PART 1\na\nPART 2\nb", 1)]
)
def test_20_section_headings_need_a_number(response, expected):
    arguments = {"section_spliter": "PART", "num_sections": 2}
    assert score(response, ("detectable_format:multiple_sections", arguments)).score == expected


@pytest.mark.parametrize(
    "said", ['"Hello, you,"', "“Hello, you,”", "(Hello)", "*hello*: you", "- Hello"]
)
def test_22_punctuation_around_the_first_word_does_not_count(said):
    arguments = {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}
    asked = ("length_constraints:nth_paragraph_first_word", arguments)
    assert score(f"An intro.\n\n{said} she said.", asked).score == 1


def test_23_loose_drops_a_first_line():
    capitals = "WE WILL MEET AT THE STATION AND WALK THROUGH THE OLD TOWN TO THE MARKET"
    result = score(f"Of course:\n{capitals}", ("change_case:english_capital", {}))
    assert (result.components["strict"], result.components["loose"]) == (0, 1)
    assert result.score == 0


def test_26_english_in_capitals_is_english():
    text = "PLEASE BRING THE LITTLE TABLE TO THE GARDEN BEFORE OUR GUESTS ARRIVE THIS EVENING"
    assert score(text, ("change_case:english_capital", {})).score == 1
    assert score(text, ("language:response_language", {"language": "en"})).score == 1
