"""Values against values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cascade_rl_code.plain import MAX_DEPTH, equal_json, equal_python

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "expected", "equal"),
    [
        (5, 5.0, True),
        (5.0, 5, True),
        (5.0000001, 5, False),
        (True, 1, True),
        ("5", 5, False),
        (None, None, True),
        (None, False, False),
        (None, "", False),
        ([], "", False),
        ((1, 2), [1, 2], True),
        ([(1, 2)], [[1, 2]], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ({1, 2}, [1, 2], False),
        ({"a": (1,)}, {"a": [1]}, True),
        ({1: 2}, {"1": 2}, True),
        ({True: 2}, {"true": 2}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        (b"a", "a", False),
        (0.1 + 0.2, 0.3, False),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (10**400, 1.0, False),
    ],
)
def test_equality_with_json(value, expected, equal):
    assert equal_json(value, expected) is equal


@pytest.mark.parametrize(
    ("value", "expected", "equal"),
    [
        ([0.1 + 0.2, 1.0], [0.3, 1.0], True),
        ([[(0.1 + 0.2,)]], [[[0.3]]], True),
        (1000000008, 1000000007, False),
        (1000000008, 1000000007.0, True),
        (10**400, 1.0, False),
        (float("inf"), 1.0, False),
        (float("inf"), float("inf"), True),
    ],
)
def test_tolerance_reaches_into_any_nesting_and_spares_integers(value, expected, equal):
    assert equal_json(value, expected, tolerance=1e-8) is equal


def test_true_is_1_unless_asked_otherwise():
    assert equal_json([True], [1])
    assert not equal_json([True], [1], strict_bool=True)
    assert not equal_json(0, False, strict_bool=True)
    assert equal_json(True, True, strict_bool=True)


def test_depth_is_bounded():
    deep: list = []
    for _ in range(MAX_DEPTH * 50):
        deep = [deep]
    assert equal_json(deep, deep) is False
    assert equal_python(deep, deep) in (True, False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(JSON, JSON)
def test_equality_is_reflexive_and_agrees_with_python(value, other):
    assert equal_json(value, value)
    assert equal_json(value, other) == (value == other)
