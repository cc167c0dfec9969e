"""Drawing tokens: uniform numbers, truncation, and the distribution that comes out."""

from __future__ import annotations

import pytest
import torch

from cascade_rl.types import SamplingParams
from cascade_rl_trainer.local.choose import candidates, choose, draw
from cascade_rl_trainer.local.randoms import uniforms

LOGITS = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).log()


def shares(logits=LOGITS, **params):
    tokens, probs = candidates(logits, SamplingParams(**params))
    if tokens is None:
        return probs[0].tolist()
    assert tokens[0].tolist() == sorted(set(tokens[0].tolist()))
    return torch.zeros_like(logits).scatter(1, tokens, probs)[0].tolist()


def test_uniform_numbers_are_fixed_for_all_time():
    # splitmix64 from state 1234567: its published first outputs, shifted right by 11 bits
    expected = [6457827717110365317 >> 11, 3203168211198807973 >> 11, 9817491932198370423 >> 11]
    assert uniforms([1234567], 3)[0].tolist() == [n * 2.0**-53 for n in expected]


def test_a_rows_numbers_are_its_own():
    whole = uniforms([3, 2**63 - 1, 3], 50)
    assert torch.equal(whole[0], whole[2])
    assert torch.equal(whole[:1, :7], uniforms([3], 7))
    assert torch.equal(whole[1], uniforms([2**63 - 1], 50)[0])
    assert not torch.equal(whole[0], whole[1])


def test_uniform_numbers_are_uniform():
    values = uniforms(range(200), 100)
    assert values.min() >= 0
    assert values.max() < 1
    assert values.mean().item() == pytest.approx(0.5, abs=0.01)
    counts = torch.histc(values.float(), bins=10, min=0, max=1) / values.numel()
    assert torch.allclose(counts, torch.full((10,), 0.1), atol=0.01)


def test_temperature_divides_the_logits():
    assert shares() == pytest.approx([0.1, 0.4, 0.2, 0.3])
    squares = torch.tensor([0.01, 0.16, 0.04, 0.09]) / 0.3
    assert shares(temperature=0.5) == pytest.approx(squares.tolist())


def test_top_k_keeps_the_likeliest():
    assert shares(top_k=2) == pytest.approx([0, 4 / 7, 0, 3 / 7])
    assert shares(top_k=1) == [0, 1, 0, 0]
    assert shares(top_k=99) == pytest.approx([0.1, 0.4, 0.2, 0.3])


def test_top_p_keeps_the_smallest_set_that_reaches_it():
    assert shares(top_p=0.69) == pytest.approx([0, 0.4, 0, 0.3])
    assert shares(top_p=0.71) == pytest.approx([0, 0.4, 0.2, 0.3])
    assert shares(top_p=0.0001) == pytest.approx([0, 0.4, 0, 0])
    assert shares(top_p=1.0) == pytest.approx([0.1, 0.4, 0.2, 0.3])


def test_top_p_works_on_what_top_k_left():
    # of 4/7 and 3/7, the first alone reaches one half
    assert shares(top_k=2, top_p=0.5) == pytest.approx([0, 4 / 7, 0, 0])


def test_a_nucleus_wider_than_the_shortlist_is_found_whole():
    even = torch.zeros(2, 1000)
    even[1, 7] = 50.0
    tokens, probs = candidates(even, SamplingParams(top_p=0.5))
    assert (probs[0] > 0).sum() == 500
    assert tokens[1, probs[1] > 0].tolist() == [7]


def test_a_shortlist_changes_nothing():
    logits = torch.randn(1, 500, generator=torch.Generator().manual_seed(0)) * 2
    ordered = logits[0].softmax(-1).sort(descending=True)
    count = int((ordered.values.cumsum(-1) < 0.9).sum()) + 1
    kept = {i for i, p in enumerate(shares(logits, top_p=0.9)) if p > 0}
    assert kept == set(ordered.indices[:count].tolist())
    assert 3 < count < 64


def test_drawing_inverts_the_cumulative_distribution():
    probs = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).repeat(8, 1)
    numbers = torch.tensor([0.0, 0.09, 0.11, 0.49, 0.51, 0.69, 0.71, 0.999999])
    assert draw(probs, numbers).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_token_without_probability_is_never_drawn():
    probs = torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]]).repeat(4, 1)
    numbers = torch.tensor([0.0, 0.5, 0.75, 1 - 2.0**-53], dtype=torch.float64)
    assert draw(probs, numbers).tolist() == [1, 3, 3, 3]


def test_a_nucleus_that_sums_to_less_than_one_is_drawn_from_in_proportion():
    probs = torch.tensor([[0.0, 0.4, 0.0, 0.2]]).repeat(2, 1)
    assert draw(probs, torch.tensor([0.66, 0.67])).tolist() == [1, 3]


@pytest.mark.parametrize("params", [{}, {"temperature": 0.7, "top_p": 0.8}, {"top_k": 3}])
def test_draws_follow_the_distribution(params):
    expected = torch.tensor(shares(**params))
    params = SamplingParams(**params)
    numbers = uniforms(range(400), 50).flatten()
    tokens = choose(LOGITS.expand(len(numbers), -1), numbers, params)
    counts = torch.bincount(tokens, minlength=4) / len(numbers)
    # 20,000 draws: standard deviation at most 0.0036
    assert torch.allclose(counts, (expected / expected.sum()).float(), atol=0.012)


def test_temperature_zero_takes_the_likeliest_and_the_first_of_equals():
    logits = torch.tensor([[1.0, 3.0, 3.0], [0.0, -1.0, -2.0]])
    greedy = SamplingParams(temperature=0)
    assert choose(logits, torch.tensor([0.99, 0.99]), greedy).tolist() == [1, 0]
