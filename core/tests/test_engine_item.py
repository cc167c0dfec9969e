"""What crosses to a worker comes out the same, whatever a completion or a truth holds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cascade_rl import Completion, LengthBudget, Prompt, Reward
from cascade_rl.engine import Item
from cascade_rl.engine.answer import answer_line, failed_line, read_answer, ready_line
from cascade_rl.engine.attempt import Attempt
from cascade_rl.engine.item import decode_item, encode_item
from cascade_rl.workers.lines import LineBuffer

TEXT = st.text(st.characters(), max_size=20)  # lone surrogates, control characters, line ends
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ITEMS = st.builds(
    Item,
    prompt=st.builds(
        Prompt.from_text,
        TEXT,
        TEXT,
        ground_truth=JSON,
        metadata=st.dictionaries(TEXT, JSON, max_size=2),
        mode=st.sampled_from(["think", "no_think", "none"]),
    ),
    completion=st.builds(
        Completion,
        text=TEXT,
        finish_reason=st.sampled_from(["stop", "length"]),
        tokens=st.none() | st.integers(0, 10**9),
    ),
    budget=st.none()
    | st.builds(LengthBudget, prompt_tokens=st.integers(1, 9), completion_tokens=st.integers(1, 9)),
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
REWARDS = st.builds(
    Reward,
    score=NUMBERS,
    correct=st.none() | st.booleans(),
    truncated=st.booleans(),
    components=st.dictionaries(TEXT, st.none() | NUMBERS, max_size=2),
    extracted=st.none() | TEXT,
    reason=TEXT,
    ms=st.none() | NUMBERS,
)


@given(ITEMS)
def test_an_item_crosses_unchanged_on_one_line(item):
    line = encode_item(item)
    assert decode_item(line) == item
    assert b"\n" not in line
    assert b"\t" not in line
    assert line.isascii()
    assert encode_item(item.model_copy()) == line


@given(REWARDS, st.integers(0), st.booleans(), st.none() | st.floats(0, 1e9))
def test_a_reward_crosses_unchanged(reward, number, storable, retry_after_s):
    attempt = Attempt(reward, storable=storable, retry_after_s=retry_after_s)
    answer = read_answer(answer_line(number, attempt))
    assert (answer.number, answer.attempt) == (number, attempt)


@given(st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\n", b""))), st.data())
def test_lines_come_out_whole_however_they_are_cut(lines, data):
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    buffer, found = LineBuffer(), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += buffer.feed(stream[start:end])
    assert found == lines


def test_not_a_number_crosses_as_what_it_is():
    item = Item(
        prompt=Prompt.from_text("p", "?", ground_truth=[math.nan, -math.inf]),
        completion=Completion(text=""),
    )
    truth = decode_item(encode_item(item)).prompt.ground_truth
    assert math.isnan(truth[0])
    assert truth[1] == -math.inf


def test_what_no_reader_takes_back_is_refused_by_the_writer():
    item = Item(
        prompt=Prompt.from_text("p", "?", ground_truth=10**5000), completion=Completion(text="")
    )
    with pytest.raises(ValueError, match="4300 digits"):
        encode_item(item)


def test_the_other_lines():
    assert read_answer(failed_line("why")).failed == "why"
    assert read_answer(ready_line(False)).same_source is False
    for broken in (b"", b"[]", b"{}", b'{"number": 1}', b"1", b'{"number": 1, "reward": {}}',
                   b"[" * 100_000):  # fmt: skip
        with pytest.raises((ValueError, KeyError)):
            read_answer(broken)
