"""OpenRLHF, eval-protocol and TRL, their own code, against the service."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

OPENRLHF = """
import asyncio, json, sys
from types import SimpleNamespace
from openrlhf.utils.agent import SingleTurnAgentExecutor

PROMPT = "<|im_start|>user\\nSay it.<|im_end|>\\n<|im_start|>assistant\\n"

class Tokenizer:
    def __call__(self, text, **_):
        import torch
        return {"input_ids": torch.tensor([[ord(c) for c in text]])}
    def decode(self, ids, skip_special_tokens):
        assert not skip_special_tokens
        return "".join(map(chr, ids))

class Engine:
    def __init__(self, text):
        self.text = text
    async def generate(self, ids, params, **_):
        token_ids = [ord(c) for c in self.text + "<|im_end|>"]
        return SimpleNamespace(outputs=[SimpleNamespace(
            token_ids=token_ids, finish_reason="stop", logprobs=None, text=self.text)])

async def one(executor, text):
    params = SimpleNamespace(max_tokens=99, logprobs=None)
    return await executor.execute(PROMPT, "it", params, 500, Tokenizer(), Engine(text))

async def main(url):
    executor = SingleTurnAgentExecutor(url)
    return await asyncio.gather(*(one(executor, text) for text in sys.argv[2:]))

outputs = asyncio.run(main(sys.argv[1]))
print(json.dumps([[o["reward"], o["scores"], o["extra_logs"]] for o in outputs]))
"""


def test_openrlhf(run_peer, services):
    found = run_peer(OPENRLHF, services[0] + "/get_reward", "it", "that", "score 0.25")
    assert found == [
        [[1.0], [1.0], {"exact": [1.0]}],
        [[0.0], [0.0], {"exact": [0.0]}],
        [[0.25], [0.25], {}],
    ]


def test_openrlhf_with_the_token_in_its_url(run_peer, services, token):
    url = services[1].replace("http://", f"http://any:{token}@")
    assert run_peer(OPENRLHF, url + "/get_reward", "it")[0][0] == [1.0]


def test_openrlhf_a_sample_without_a_score_is_no_zero(run_peer, services):
    ((reward, scores, _),) = run_peer(OPENRLHF, services[0] + "/get_reward", "abstain")
    assert reward is None
    assert scores is None


EVAL_PROTOCOL = """
import json, sys
from eval_protocol.reward_function import RewardFunction
reward = RewardFunction(mode="remote", endpoint=sys.argv[1])
turns = [{"role": "user", "content": "Say it."}, {"role": "assistant", "content": sys.argv[2]}]
try:
    result = reward(turns, ground_truth="it", mode="think")
    print(json.dumps([result.score, result.reason, result.metrics["exact"].score,
                      result.metrics["exact"].is_score_valid]))
except Exception as error:
    print(json.dumps(f"{type(error).__name__}: {error.response.status_code}"))
"""


def test_eval_protocol(run_peer, services):
    url = services[0] + "/evaluate"
    assert run_peer(EVAL_PROTOCOL, url, "it") == [1.0, "equal", 1.0, True]
    assert run_peer(EVAL_PROTOCOL, url, "that") == [0.0, "not equal", 0.0, True]


def test_eval_protocol_with_its_token(run_peer, services, token, monkeypatch):
    monkeypatch.setenv("FIREWORKS_API_KEY", token)
    assert run_peer(EVAL_PROTOCOL, services[1] + "/evaluate", "it")[0] == 1.0


def test_eval_protocol_a_sample_without_a_score_is_an_error(run_peer, services):
    assert run_peer(EVAL_PROTOCOL, services[0] + "/evaluate", "abstain") == "HTTPError: 422"


TRL = """
import json, sys, tempfile
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer
from cascade_rl.client.trl import RemoteReward

words = ["<pad>", "<eos>", "say", "it", "that", "abstain"]
inner = Tokenizer(models.WordLevel({w: n for n, w in enumerate(words)}, unk_token="<pad>"))
inner.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>")
model = LlamaForCausalLM(LlamaConfig(vocab_size=len(words), hidden_size=16, intermediate_size=16,
    num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=64,
    pad_token_id=0, eos_token_id=1, bos_token_id=None))
reward = RemoteReward(sys.argv[1], "obedient", name="remote")
seen = []

class Watched(GRPOTrainer):
    def _calculate_rewards(self, inputs, prompts, completions, *rest):
        found = super()._calculate_rewards(inputs, prompts, completions, *rest)
        seen.extend(zip(completions, found[:, 0].tolist()))
        return found

with tempfile.TemporaryDirectory() as folder:
    trainer = Watched(
        model=model, reward_funcs=reward, processing_class=tokenizer,
        train_dataset=Dataset.from_dict({"prompt": ["say"] * 4, "ground_truth": ["it"] * 4}),
        args=GRPOConfig(output_dir=folder, max_steps=1, use_cpu=True, bf16=False, report_to="none",
            per_device_train_batch_size=32, num_generations=32, max_completion_length=1,
            logging_steps=1, save_strategy="no", disable_tqdm=True, seed=0),
    )
    trainer.train()
reward.close()
log = {k: v for entry in trainer.state.log_history for k, v in entry.items()}
logged = [log["rewards/remote/mean"], log["remote/unscored"]]
print(json.dumps([[[t, None if r != r else r] for t, r in seen], logged]))
"""


def test_trl_trains_a_step_with_the_service(run_peer, services):
    seen, (mean, unscored) = run_peer(TRL, services[0])
    assert len(seen) == 32
    expected = {"it": 1.0, "abstain": None}
    assert all(reward == expected.get(text.strip(), 0.0) for text, reward in seen), seen
    texts = [text.strip() for text, _ in seen]
    assert {"it", "abstain"} <= set(texts)  # one of six words each: both occur
    known = [reward for _, reward in seen if reward is not None]
    assert mean == pytest.approx(sum(known) / len(known))
    assert unscored == pytest.approx(texts.count("abstain") / 32)
