"""Sampling whole completions from tiny models."""

from __future__ import annotations

import pytest
import torch

from cascade_rl.types import SamplingParams
from cascade_rl_trainer.local import sampling
from cascade_rl_trainer.local.decoder import ForwardDecoder, LlamaDecoder, decoder_for
from cascade_rl_trainer.local.padding import pad_left
from cascade_rl_trainer.local.sampling import sample, sample_groups

PROMPTS = [[1, 50, 60], [1, 70], [1, 50, 60], [1, 33, 44, 55, 66, 77]]


def run(policy, prompts=PROMPTS, seeds=None, limit=12, stop=(2,), **params):
    callback = params.pop("on_finished", None)
    return sample(
        policy.model, prompts, range(len(prompts)) if seeds is None else seeds,
        params=SamplingParams(**params), max_new_tokens=limit, stop_ids=stop, pad_id=0,
        on_finished=callback,
    )  # fmt: skip


def ids(completions):
    return [c.token_ids for c in completions]


@pytest.fixture(params=["llama", "forward"])
def decoder(request, monkeypatch):
    """Every test with this fixture runs with both decoders."""
    if request.param == "forward":
        monkeypatch.setattr(sampling, "decoder_for", lambda model, _tokens: ForwardDecoder(model))
    return request.param


def test_greedy_equals_hugging_faces_generate(make_policy, decoder):
    policy = make_policy()
    prompts, mask = pad_left(PROMPTS, 0)
    expected = policy.model.generate(
        input_ids=prompts, attention_mask=mask.long(), do_sample=False, max_new_tokens=12,
        eos_token_id=[2, 9], pad_token_id=0,
    )[:, prompts.shape[1] :].tolist()  # fmt: skip
    ours = run(policy, stop=(2, 9), temperature=0)
    assert len({tuple(row) for row in expected}) == 3
    for completion, row in zip(ours, expected, strict=True):
        assert completion.token_ids == row[: len(completion.token_ids)]
        assert set(row[len(completion.token_ids) :]) <= {0}


def test_first_tokens_follow_the_softmax(make_policy, decoder):
    policy = make_policy(scale=30.0)
    n = 6000
    drawn = run(policy, [[1, 50, 60]] * n, limit=1, temperature=0.9)
    counts = torch.bincount(torch.tensor([c.token_ids[0] for c in drawn]), minlength=262) / n
    with torch.no_grad():
        logits = policy.model(torch.tensor([[1, 50, 60]])).logits[0, -1]
    expected = (logits / 0.9).softmax(-1)
    top = expected.topk(5).indices
    assert expected.max() > 0.05
    assert torch.allclose(counts[top], expected[top], atol=0.02)
    assert (counts - expected).abs().sum() / 2 < 0.08  # total variation


def test_second_tokens_follow_the_softmax_given_the_first(make_policy, decoder):
    policy = make_policy(scale=30.0)
    drawn = run(policy, [[1, 50]] * 4000, limit=2, stop=())
    firsts = torch.bincount(torch.tensor([c.token_ids[0] for c in drawn]))
    first = int(firsts.argmax())
    seconds = torch.tensor([c.token_ids[1] for c in drawn if c.token_ids[0] == first])
    counts = torch.bincount(seconds, minlength=262) / len(seconds)
    with torch.no_grad():
        expected = policy.model(torch.tensor([[1, 50, first]])).logits[0, -1].softmax(-1)
    top = expected.topk(3).indices
    assert len(seconds) > 300
    assert torch.allclose(counts[top], expected[top], atol=0.08)


def test_equal_seeds_give_equal_completions_and_others_do_not(make_policy, decoder):
    policy = make_policy(scale=4.0)
    one = run(policy, [[1, 50]] * 3, seeds=[5, 6, 5], stop=())
    assert one[0] == one[2]
    assert one[0] != one[1]
    assert run(policy, [[1, 50]] * 3, seeds=[5, 6, 5], stop=()) == one


def test_a_row_does_not_depend_on_the_rows_beside_it(make_policy, decoder):
    policy = make_policy()
    together = run(policy, PROMPTS, seeds=[1, 2, 3, 4])
    alone = [run(policy, [p], seeds=[s])[0] for p, s in zip(PROMPTS, [1, 2, 3, 4], strict=True)]
    turned = run(policy, PROMPTS[::-1], seeds=[4, 3, 2, 1])
    assert together == alone == turned[::-1]


def test_finish_reasons_and_lengths(make_policy, decoder):
    policy = make_policy()
    for one in run(policy, [[1, 50]] * 64, limit=9, stop=range(0, 262, 20), temperature=3.0):
        stops = [t % 20 == 0 for t in one.token_ids]
        assert not any(stops[:-1])
        assert one.finish_reason == ("stop" if stops[-1] else "length")
        assert one.finish_reason == "stop" or len(one.token_ids) == 9


def test_a_stop_at_the_very_limit_is_a_stop(make_policy):
    policy = make_policy()
    free = run(policy, [[1, 50]], limit=3, stop=())[0].token_ids
    assert len(set(free)) == 3, "the test needs distinct tokens"
    bound = run(policy, [[1, 50]], limit=3, stop=(free[2],))[0]
    assert (bound.token_ids, bound.finish_reason) == (free, "stop")


def test_every_row_has_its_own_limit(make_policy, decoder):
    limits = [3, 1, 12, 7]
    result = run(make_policy(), limit=limits, stop=())
    assert [len(row) for row in ids(result)] == limits
    full = run(make_policy(), limit=12, stop=())
    assert ids(result) == [row[:n] for row, n in zip(ids(full), limits, strict=True)]


def test_each_completion_is_reported_once_and_as_soon_as_it_is_done(make_policy, decoder):
    seen = []
    result = run(
        make_policy(), limit=[5, 2, 9, 2], stop=(),
        on_finished=lambda row, tokens, reason: seen.append((row, tokens, reason)),
    )  # fmt: skip
    assert [row for row, *_ in seen] == [1, 3, 0, 2]
    assert {row: (tokens, reason) for row, tokens, reason in seen} == {
        i: (c.token_ids, c.finish_reason) for i, c in enumerate(result)
    }


def test_truncated_distributions_are_respected(make_policy, decoder):
    policy = make_policy(scale=4.0)
    with torch.no_grad():
        logits = policy.model(torch.tensor([[1, 50]])).logits[0, -1]
    best = set(logits.topk(3).indices.tolist())
    drawn = {c.token_ids[0] for c in run(policy, [[1, 50]] * 500, limit=1, top_k=3)}
    assert drawn == best
    alone = {c.token_ids[0] for c in run(policy, [[1, 50]] * 50, limit=1, top_p=1e-6)}
    assert alone == {int(logits.argmax())}


def test_groups_are_rows_next_to_each_other(make_policy):
    policy = make_policy(scale=4.0)
    prompts = [[1, 50], [1, 60, 70]]
    params = SamplingParams(n=3)
    seeds = list(range(6))
    grouped = sample_groups(policy, prompts, params, max_new_tokens=5, seeds=seeds)
    rows = [prompts[0]] * 3 + [prompts[1]] * 3
    assert grouped == run(policy, rows, seeds=seeds, limit=5)


def test_adapters_are_sampled_with(make_policy, decoder):
    policy = make_policy(lora=True)
    before = run(policy, temperature=0)
    with torch.no_grad():
        for name, parameter in policy.model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 1, generator=torch.Generator().manual_seed(0))
    after = run(policy, temperature=0)
    assert before != after
    assert after == run(policy, temperature=0)


def test_training_mode_and_gradients_do_not_leak(make_policy):
    policy = make_policy()
    policy.model.train()
    run(policy)
    assert not policy.model.training
    assert all(p.grad is None and p.requires_grad for p in policy.model.parameters())


def test_bad_requests(make_policy):
    policy = make_policy()
    assert run(policy, []) == []
    with pytest.raises(ValueError, match="4 prompts, 1 seeds, 4 limits"):
        run(policy, seeds=[1])
    with pytest.raises(ValueError, match="at least 1, got 0"):
        run(policy, limit=[1, 0, 1, 1])
    with pytest.raises(ValueError, match="prompt 1 has no tokens"):
        run(policy, [[1], []])


def small(name):
    """A tiny model of another architecture, with random weights."""
    import transformers

    common = {"vocab_size": 61, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2}  # fmt: skip
    configs = {
        "llama": lambda: transformers.LlamaConfig(**common, **sizes),
        "llama3": lambda: transformers.LlamaConfig(
            **common, **sizes, attention_bias=True, mlp_bias=True, head_dim=6,
            rope_parameters={"rope_type": "llama3", "rope_theta": 1e4, "factor": 4.0,
                             "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                             "original_max_position_embeddings": 8},
        ),
        "dynamic": lambda: transformers.LlamaConfig(
            **common, **sizes, max_position_embeddings=8,
            rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
        ),
        "sliding": lambda: transformers.Qwen2Config(
            **common, **sizes, use_sliding_window=True, sliding_window=4, max_window_layers=0
        ),
        "qwen3": lambda: transformers.Qwen3Config(**common, **sizes, head_dim=8),
        "gpt2": lambda: transformers.GPT2Config(**common, n_embd=16, n_layer=2, n_head=2),
    }  # fmt: skip
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(configs[name]()).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(6)
    return model


@pytest.mark.parametrize(
    ("name", "kind"),
    [("llama", LlamaDecoder), ("llama3", LlamaDecoder), ("dynamic", ForwardDecoder),
     ("sliding", ForwardDecoder), ("qwen3", ForwardDecoder), ("gpt2", ForwardDecoder)],
)  # fmt: skip
def test_decoders_equal_the_forward_pass(name, kind):
    model = small(name)
    prompts = [[5, 6, 7], [8], [9, 10, 11, 12, 13]]
    rows = [0, 1, 1, 2]
    fed = torch.randint(3, 61, (4, 80), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        decoder = decoder_for(model, 90)
        assert type(decoder) is kind
        logits = decoder.prefill(*pad_left(prompts, 0))
        decoder.select(torch.tensor(rows))
        logits = logits[rows]
        for t in range(80):  # longer than the cache's first allocation
            if t == 40:
                rows, fed = rows[1:], fed[1:]
                decoder.select(torch.tensor([1, 2, 3]))
                logits = logits[1:]
            for row, prompt in enumerate(rows):
                whole = torch.tensor([[*prompts[prompt], *fed[row, :t].tolist()]])
                if t in (0, 1, 39, 40, 79) and (name != "dynamic" or t < 2):
                    expected = model(whole).logits[0, -1]
                    assert torch.allclose(logits[row], expected, atol=1e-4), (t, row)
            logits = decoder.step(fed[:, t])
