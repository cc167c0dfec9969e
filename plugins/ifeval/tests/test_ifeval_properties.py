"""Properties that hold for every text: a verdict, the same one each time, in bounded time."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cascade_rl.types import Completion, Prompt
from cascade_rl_ifeval import reward
from cascade_rl_ifeval.instructions import INSTRUCTIONS
from cascade_rl_ifeval.labels import parse_label
from cascade_rl_ifeval.lint import findings
from cascade_rl_ifeval.tokenise.sentences import split_sentences
from cascade_rl_ifeval.verifier import judge, loose_variants, requirements

ARGUMENTS = {
    "keywords:existence": {"keywords": ["tea"]},
    "keywords:frequency": {"keyword": "tea", "frequency": 2, "relation": "less than"},
    "keywords:forbidden_words": {"forbidden_words": ["$", "tea"]},
    "keywords:letter_frequency": {"letter": "a", "let_frequency": 2, "let_relation": "at least"},
    "language:response_language": {"language": "de"},
    "length_constraints:number_sentences": {"num_sentences": 2, "relation": "at least"},
    "length_constraints:number_paragraphs": {"num_paragraphs": 2},
    "length_constraints:number_words": {"num_words": 2, "relation": "at least"},
    "length_constraints:nth_paragraph_first_word": {
        "num_paragraphs": 1, "nth_paragraph": 1, "first_word": "a",
    },
    "detectable_content:number_placeholders": {"num_placeholders": 1},
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "detectable_format:number_bullet_lists": {"num_bullets": 1},
    "detectable_format:number_highlighted_sections": {"num_highlights": 1},
    "detectable_format:multiple_sections": {"section_spliter": "PART", "num_sections": 1},
    "combination:repeat_prompt": {"prompt_to_repeat": "tea"},
    "startend:end_checker": {"end_phrase": "tea"},
    "change_case:capital_word_frequency": {"capital_frequency": 1, "capital_relation": "at least"},
}  # fmt: skip
NAMES = list(INSTRUCTIONS)
TRUTH = {"instruction_id_list": NAMES, "kwargs": [ARGUMENTS.get(name, {}) for name in NAMES]}
PROMPT = Prompt.from_text("p", "Write 3 words.", ground_truth=TRUTH)

#: Any text at all, lone surrogates and NUL too, and text made of the signs that rules look at.
ANY = st.text(st.characters(exclude_categories=()), max_size=60)
SIGNS = st.lists(
    st.sampled_from(
        ["tea", "A", "I", "P.S.", "PART 1", "*", "**", "***", "-", ".", "!", "?", "...", '"', "'",
         "<<", ">>", "[", "]", "{", "}", "```", "```json", "\n", "\n\n", " ", "1.", "Dr.", "n't",
         ",", "</think>", "\u200d", "\u0301", "ह", "\x00", "\udc80"]
    ),
    max_size=25,
).map("".join)  # fmt: skip
TEXTS = ANY | SIGNS


@given(TEXTS)
@settings(max_examples=80, deadline=None)
def test_every_text_gets_the_same_complete_verdict_twice(text):
    first, second = (reward(PROMPT, Completion(text=text)) for _ in range(2))
    assert first == second
    assert first.status == "scored"
    assert first.score in {0.0, 1.0}
    assert len(first.components) == 2 + len(NAMES) == 27
    assert set(first.components.values()) <= {0.0, 1.0}
    first.model_dump_json()


@given(TEXTS)
@settings(max_examples=60, deadline=None)
def test_strict_implies_loose_and_blank_implies_neither(text):
    for verdict in judge(text, requirements(TRUTH)):
        assert verdict.loose or not verdict.strict
        assert text.strip() or not verdict.loose


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_sentences_keep_all_that_is_not_blank(text):
    kept = "".join("".join(split_sentences(text)).split())
    assert kept == "".join(text.split())


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_loose_variants_begin_with_the_text_and_are_at_most_eight(text):
    variants = loose_variants(text)
    assert variants[0] == text
    assert 1 <= len(variants) == len(set(variants)) <= 8


@given(TEXTS | st.recursive(st.none() | st.integers() | st.floats() | ANY, st.lists, max_leaves=5))
@settings(max_examples=150, deadline=None)
def test_any_ground_truth_is_judged_or_refused_by_name(label):
    for truth in (label, {"instruction_id_list": label, "kwargs": [label]}):
        result = reward(Prompt.from_text("p", "x", ground_truth=_json(truth)), Completion(text="x"))
        assert result.status == "bad_prompt"
        assert result.reason


def _json(value):
    """Without NaN and infinity, which are no JSON."""
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    return None if isinstance(value, float) else value


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_parse_label_raises_nothing_but_value_error(text):
    with contextlib.suppress(ValueError):
        parse_label(text)


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_the_lint_reads_any_prompt(text):
    assert isinstance(findings(text, requirements(TRUTH)), list)


SIZE = 30_000


@pytest.mark.parametrize(
    "text",
    [
        "<" * SIZE, "[" * SIZE, "*" * SIZE, "." * SIZE, "!" * SIZE, '"' * SIZE, "\n" * SIZE + "a",
        " " * SIZE + "a", "a" * SIZE, "1" * SIZE, "- " * SIZE, "a. " * SIZE, ". " * SIZE,
        "a.)" * SIZE, "'" * SIZE + "a", "```" * SIZE, "<<" * SIZE + ">", "a@" * SIZE,
        "{" * SIZE, "***" * SIZE, "A' " * SIZE, ", " * SIZE, "*a\n" * SIZE, "http://" * SIZE,
        "ह\u093f" * SIZE, "...a" * SIZE, "-" * SIZE + "a", "....!" * SIZE,
    ],
    ids=lambda text: repr(text[:6]),
)  # fmt: skip
def test_a_huge_reply_is_judged_in_seconds(text):
    start = time.process_time()
    assert reward(PROMPT, Completion(text=text)).status == "scored"
    assert time.process_time() - start < 4
