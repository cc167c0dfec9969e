"""Updates against a plain autograd reference, whatever the micro-batch and the padding."""

from __future__ import annotations

import math

import pytest
import torch

from cascade_rl.errors import RunError
from cascade_rl_trainer.local import forward
from cascade_rl_trainer.local.forward import TrainRow, completion_logprobs, micro_batches
from cascade_rl_trainer.local.sft import sft_update
from cascade_rl_trainer.local.update import policy_update
from cascade_rl_trainer.model.load import trainable_parameters

P, Q = [1, 50, 60], [1, 33, 44, 55, 66]
ROWS = [
    TrainRow(P, [70, 80, 2]),
    TrainRow(Q, [90]),
    TrainRow(P, [71, 81, 91, 101, 111, 2]),
    TrainRow(Q, [72, 2]),
    TrainRow(P, [2]),
    TrainRow([1], [73, 83]),
]
ADVANTAGES = [1.0, -0.5, 0.25, 2.0, -1.5, 0.75]


def reference_logprobs(model, row, temperature):
    """One row, the whole sequence, no cache, no padding."""
    ids = torch.tensor([[*row.prompt_ids, *row.completion_ids]])
    table = (model(ids).logits[0] / temperature).log_softmax(-1)
    start = len(row.prompt_ids)
    return torch.stack([table[start + t - 1, c] for t, c in enumerate(row.completion_ids)])


def reference_gradient(policy, rows, advantages, divisor, temperature):
    parameters = trainable_parameters(policy)
    loss = (
        -sum(
            a * reference_logprobs(policy.model, row, temperature).sum()
            for row, a in zip(rows, advantages, strict=True)
        )
        / divisor
    )
    gradients = torch.autograd.grad(loss, list(parameters.values()))
    return loss.item(), dict(zip(parameters, gradients, strict=True))


class Recorder(torch.optim.SGD):
    """Keeps the gradients it is given; with lr 1 the step is minus the gradient."""

    def __init__(self, policy):
        super().__init__(list(trainable_parameters(policy).values()), lr=1.0)
        self.policy, self.steps, self.gradients = policy, 0, {}

    def step(self, closure=None):
        self.steps += 1
        self.gradients = {
            n: p.grad.clone() for n, p in trainable_parameters(self.policy).items()
            if p.grad is not None
        }  # fmt: skip


def update(policy, rows=ROWS, advantages=ADVANTAGES, part=None, optimizer=None, **options):
    optimizer = optimizer or Recorder(policy)
    defaults = {"temperature": 0.8, "lr": 1e-3, "micro_batch": 4, "max_grad_norm": 1e9}
    part = [True] * len(rows) if part is None else part
    stats = policy_update(policy, optimizer, rows, advantages, part, **defaults | options)
    return stats, optimizer


def assert_close(gradients, expected, tolerance=1e-6):
    assert gradients.keys() == expected.keys()
    largest = max(g.abs().max().item() for g in expected.values())
    assert largest > 1e-3
    for name, gradient in expected.items():
        assert (gradients[name] - gradient).abs().max() <= tolerance * max(largest, 1), name


@pytest.fixture(params=["shared", "whole"])
def reading(request, monkeypatch):
    """Every test with this fixture runs with and without shared prompts."""
    if request.param == "whole":
        monkeypatch.setattr(forward, "_shares_cache", lambda _model: False)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_are_those_of_the_plain_forward_pass(make_policy, reading, temperature):
    policy = make_policy(scale=20.0)
    logprobs, mask = completion_logprobs(policy.model, ROWS, temperature, policy.pad_id)
    assert mask.sum(1).tolist() == [3, 1, 6, 2, 1, 2]
    for row, ours, tokens in zip(ROWS, logprobs, mask, strict=True):
        expected = reference_logprobs(policy.model, row, temperature)
        assert torch.allclose(ours[tokens], expected, atol=1e-4)


@pytest.mark.parametrize("micro_batch", [1, 2, 4, 64])
@pytest.mark.parametrize("lora", [False, True])
def test_the_gradient_is_autograds_for_every_micro_batch(make_policy, reading, micro_batch, lora):
    policy = make_policy(lora=lora)
    loss, expected = reference_gradient(policy, ROWS, ADVANTAGES, 15, 0.8)
    stats, optimizer = update(policy, micro_batch=micro_batch)
    assert_close(optimizer.gradients, expected)
    assert stats.loss == pytest.approx(loss, abs=1e-5)
    norm = math.sqrt(sum(g.square().sum().item() for g in expected.values()))
    assert stats.grad_norm == pytest.approx(norm, rel=1e-4)


@pytest.mark.parametrize("name", ["sliding", "gpt2", "qwen3"])
def test_other_architectures_get_the_same_gradient(make_policy, name):
    import transformers

    common = {"vocab_size": 128, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2}  # fmt: skip
    configs = {
        "sliding": lambda: transformers.Qwen2Config(
            **common, **sizes, use_sliding_window=True, sliding_window=3, max_window_layers=0
        ),
        "gpt2": lambda: transformers.GPT2Config(**common, n_embd=16, n_layer=2, n_head=2),
        "qwen3": lambda: transformers.Qwen3Config(**common, **sizes, head_dim=8),
    }
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(configs[name]()).eval()
    base = make_policy()
    policy = type(base)(model, base.tokenizer, base.template)
    _, expected = reference_gradient(policy, ROWS, ADVANTAGES, 15, 0.8)
    assert_close(update(policy)[1].gradients, expected)


def test_a_row_without_advantage_is_not_computed_but_counts_in_the_divisor(make_policy):
    policy = make_policy()
    advantages = [1.0, 0.0, 0.0, 2.0, 0.0, 0.0]
    _, expected = reference_gradient(policy, [ROWS[0], ROWS[3]], [1.0, 2.0], 15, 0.8)
    stats, optimizer = update(policy, advantages=advantages)
    assert (stats.rows, stats.used_rows, stats.tokens) == (6, 2, 15)
    assert_close(optimizer.gradients, expected)


def test_a_masked_row_is_outside_the_divisor(make_policy):
    policy = make_policy()
    part = [True, True, False, True, True, True]
    kept = [i for i, p in enumerate(part) if p]
    rows, advantages = [ROWS[i] for i in kept], [ADVANTAGES[i] for i in kept]
    _, expected = reference_gradient(policy, rows, advantages, 9, 0.8)
    stats, optimizer = update(policy, part=part)
    assert (stats.used_rows, stats.tokens) == (5, 9)
    assert_close(optimizer.gradients, expected)


@pytest.mark.parametrize(
    ("advantages", "part"), [([0.0] * 6, [True] * 6), (ADVANTAGES, [False] * 6)]
)
def test_a_batch_without_signal_changes_nothing(make_policy, advantages, part):
    policy = make_policy()
    before = [p.clone() for p in policy.model.parameters()]
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=1.0, weight_decay=0.5)
    stats, _ = update(policy, advantages=advantages, part=part, optimizer=optimizer)
    assert (stats.loss, stats.grad_norm, stats.entropy, stats.used_rows) == (0, None, None, 0)
    assert all(torch.equal(a, b) for a, b in zip(before, policy.model.parameters(), strict=True))


def test_an_empty_batch_changes_nothing(make_policy):
    stats, optimizer = update(make_policy(), rows=[], advantages=[])
    assert (stats.tokens, optimizer.steps) == (0, 0)


def test_gradients_are_clipped_and_the_learning_rate_is_set(make_policy):
    policy = make_policy()
    stats, optimizer = update(policy, max_grad_norm=0.01, lr=0.123)
    norm = math.sqrt(sum(g.square().sum().item() for g in optimizer.gradients.values()))
    assert stats.grad_norm > 0.01
    assert norm == pytest.approx(0.01, rel=1e-3)
    assert [g["lr"] for g in optimizer.param_groups] == [0.123]


def test_an_update_makes_good_completions_likelier(make_policy):
    policy = make_policy()
    optimizer = torch.optim.AdamW(policy.model.parameters(), betas=(0.9, 0.95))

    def likelihoods():
        with torch.no_grad():
            return [reference_logprobs(policy.model, row, 0.8).sum().item() for row in ROWS]

    before = likelihoods()
    update(policy, advantages=[1, 0, 0, 0, 0, -1], optimizer=optimizer, lr=1e-3)
    after = likelihoods()
    assert after[0] > before[0]
    assert after[5] < before[5]


def test_entropy_is_the_mean_surprise_of_the_used_tokens(make_policy):
    policy = make_policy()
    used = [reference_logprobs(policy.model, row, 0.8) for row in ROWS[:1] + ROWS[3:4]]
    stats, _ = update(policy, advantages=[1.0, 0, 0, 2.0, 0, 0])
    assert stats.entropy == pytest.approx(-torch.cat(used).mean().item(), abs=1e-4)


@pytest.mark.parametrize("broken", ["weights", "advantage"])
def test_what_is_not_finite_stops_the_run_before_the_weights_change(make_policy, broken):
    policy = make_policy()
    advantages = list(ADVANTAGES)
    if broken == "weights":
        with torch.no_grad():
            next(policy.model.parameters())[73, 0] = math.nan
    else:
        advantages[2] = math.inf
    before = [p.clone() for p in policy.model.parameters()]
    optimizer = Recorder(policy)
    with pytest.raises(RunError, match=r"stage math, step 7: the loss is (nan|-?inf)"):
        update(policy, advantages=advantages, optimizer=optimizer, where="stage math, step 7")
    assert optimizer.steps == 0
    assert all(p.grad is None for p in policy.model.parameters())
    for a, b in zip(before, policy.model.parameters(), strict=True):
        assert torch.equal(a.nan_to_num(), b.nan_to_num())


def test_a_gradient_that_is_not_finite_stops_the_run(make_policy):
    policy = make_policy()
    optimizer = Recorder(policy)
    policy.model.get_input_embeddings().weight.register_hook(lambda g: g * math.inf)
    with pytest.raises(RunError, match=r"step 1: the gradient norm is (nan|inf)"):
        update(policy, optimizer=optimizer, where="step 1")
    assert optimizer.steps == 0


def test_greedy_samples_cannot_be_trained_on(make_policy):
    with pytest.raises(ValueError, match="temperature 0"):
        update(make_policy(), temperature=0)


def test_lengths_must_agree(make_policy):
    with pytest.raises(ValueError, match="6 rows, 1 advantages, 6 flags"):
        update(make_policy(), advantages=[1.0])


def test_micro_batches_hold_every_row_once_and_keep_prompts_together():
    parts = list(micro_batches(ROWS, 2))
    assert sorted(i for part in parts for i in part) == list(range(6))
    assert all(len(part) <= 2 for part in parts)
    prompts = [tuple(ROWS[i].prompt_ids) for part in parts for i in part]
    assert len([p for i, p in enumerate(prompts) if i == 0 or prompts[i - 1] != p]) == 3


@pytest.mark.parametrize("micro_batch", [1, 4, 64])
def test_sft_is_the_mean_over_all_completion_tokens(make_policy, reading, micro_batch):
    policy = make_policy()
    loss, expected = reference_gradient(policy, ROWS, [1.0] * 6, 15, 1.0)
    optimizer = Recorder(policy)
    stats = sft_update(policy, optimizer, ROWS, lr=1e-3, micro_batch=micro_batch, max_grad_norm=1e9)
    assert_close(optimizer.gradients, expected)
    assert (stats.loss, stats.tokens) == (pytest.approx(loss, rel=1e-5), 15)
    assert stats.loss == pytest.approx(stats.entropy, rel=1e-5)


def test_sft_learns_a_completion(make_policy):
    policy = make_policy()
    optimizer = torch.optim.AdamW(policy.model.parameters(), betas=(0.9, 0.95))
    losses = [
        sft_update(policy, optimizer, ROWS[:2], lr=1e-2, micro_batch=2, max_grad_norm=1.0).loss
        for _ in range(20)
    ]
    assert losses[-1] < losses[0] / 2
