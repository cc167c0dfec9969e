"""Each row of docs/mistakes.md: making the mistake shows what the row says, word for word."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from cascade_rl import Completion, Prompt, Reward, Stage
from cascade_rl.cli import main
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.errors import CascadeError
from cascade_rl.registry import Registry
from cascade_rl.testing import write_pack

PAGE = Path(__file__).parent.parent / "docs" / "mistakes.md"
GOOD = """
from pydantic import BaseModel, Field
from cascade_rl import LengthBudget, Prompt, Reward, SamplingParams, hookimpl

class Options(BaseModel):
    digits: int = Field(default=1, ge=1, le=4)

@hookimpl
def load_prompts():
    return [Prompt.from_text(f"p{n}", f"Double {n}.", ground_truth=2 * n) for n in range(60)]

@hookimpl
def reward(prompt, completion):
    return Reward.verdict(completion.answer == str(prompt.ground_truth))

@hookimpl
def length_budget():
    return LengthBudget(prompt_tokens=8, completion_tokens=8)

@hookimpl
def sampling_params():
    return SamplingParams()

@hookimpl
def gold_completion(prompt):
    return str(prompt.ground_truth)
"""
CASCADE = """
name: mine
model: {build: {hidden_size: 32, intermediate_size: 64, layers: 1, heads: 2, kv_heads: 1, context: 64}}
stages:
  - {name: first, domain: haiku, steps: 10, batch_size: 8}
"""


def rows() -> dict[str, str]:
    """Mistake to what is seen, from the table. `…` stands for anything."""
    found = re.findall(r"^\| (.+?) \| (`+) ?(.+?) ?\2 \|$", PAGE.read_text(), re.MULTILINE)
    return {mistake: seen for mistake, _, seen in found}


class Bench:
    """A pack to make mistakes in, and the ways to look at what comes of it."""

    def __init__(self, folder: Path, capsys) -> None:
        self.folder, self.capsys = folder, capsys

    def pack(self, *changes: tuple[str, str], add: str = "", **fields: str) -> None:
        source = GOOD
        for old, new in changes:
            assert old in source
            source = source.replace(old, new)
        write_pack(self.folder, "haiku", source + add, **fields)

    def error(self, call) -> str:
        with pytest.raises((CascadeError, ValidationError)) as raised:
            call()
        return str(raised.value)

    def open(self, options=None) -> str:
        return self.error(lambda: Registry().open("haiku", options))

    def prompts(self) -> str:
        return self.error(lambda: Registry().open("haiku").load_prompts("train"))

    def reason(self) -> str:
        prompt = Prompt.from_text("p2", "Double 2.", ground_truth=4)
        with RewardEngine("haiku", workers=0) as engine:
            (reward,) = engine.score([Item(prompt=prompt, completion=Completion(text="4"))])
        assert (reward.score, reward.status) == (None, "error")
        return reward.reason

    def command(self, *arguments: str) -> str:
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        assert end.value.code in (1, 2)
        captured = self.capsys.readouterr()
        return captured.out + captured.err

    def plan(self, text: str) -> str:
        (self.folder / "cascade.yaml").write_text(text)
        return self.command("plan", str(self.folder / "cascade.yaml"), "--strict")

    def score(self, line: dict) -> str:
        (self.folder / "in.jsonl").write_text(json.dumps(line))
        return self.command("score", "haiku", str(self.folder / "in.jsonl"), "--workers", "0")


REWARD = "def reward(prompt, completion):\n    return "
MISTAKES = {
    "A hook's name is misspelt": lambda b: (
        b.pack(add="\n@hookimpl\ndef load_promts(): return []\n"),
        b.open(),
    ),
    "`@hookimpl` is forgotten": lambda b: (
        b.pack(("@hookimpl\ndef reward", "def reward")),
        b.open(),
    ),
    "A required hook is missing": lambda b: (
        b.pack(("@hookimpl\ndef sampling_params", "def other")),
        b.open(),
    ),
    "An argument's name is misspelt": lambda b: (
        b.pack(("def reward(prompt, completion)", "def reward(prompt, completon)")),
        b.open(),
    ),
    "An argument has a default": lambda b: (
        b.pack(("def reward(prompt, completion)", "def reward(prompt, completion, budget=None)")),
        b.open(),
    ),
    "A hook takes `**kwargs`": lambda b: (
        b.pack(("def reward(prompt, completion)", "def reward(prompt, completion, **kwargs)")),
        b.open(),
    ),
    "The entry point names a module that is not there, or that fails": lambda b: (
        b.pack(add="\nimport no_such_module\n"),
        b.open(),
    ),
    "Two packs announce one name": lambda b: (
        b.pack(),
        b.pack(distribution="other-haiku"),
        b.open(),
    ),
    "A file of the pack is called like a hook": lambda b: (
        b.pack(add="\nimport types\nload_demonstrations = types.ModuleType('x')\n"),
        b.open(),
    ),
    "The pack was written for other hooks": lambda b: (
        b.pack(add="\nHOOK_VERSION = 2\n"),
        b.open(),
    ),
    "A domain's name is misspelt": lambda b: (
        b.pack(),
        b.error(lambda: Registry().open("haikou")),
    ),
    "A pack of ours is not installed": lambda b: (
        b.error(lambda: Registry([str(b.folder)]).open("math")),
    ),
    "An option is misspelt": lambda b: (b.pack(), b.open({"digit": 2})),
    "An option is out of its range": lambda b: (b.pack(), b.open({"digits": 9})),
    "A prompt's id occurs twice": lambda b: (b.pack(('f"p{n}"', '"p1"')), b.prompts()),
    "`load_prompts` takes `split` and ignores it": lambda b: (
        b.pack(("def load_prompts()", "def load_prompts(split)")),
        b.prompts(),
    ),
    "`reward` returns nothing": lambda b: (b.pack((REWARD, REWARD[:-7] + "x = ")), b.reason()),
    "`reward` divides nothing by nothing": lambda b: (
        b.pack((REWARD, REWARD + 'float("nan") or ')),
        b.reason(),
    ),
    "`reward` raises for a completion": lambda b: (
        b.pack((REWARD, REWARD + 'completion.missing or ')),
        b.reason(),
    ),
    "`length_budget` returns a dict": lambda b: (
        b.pack(("return LengthBudget(", "return dict(")),
        b.error(
            lambda: Registry().open("haiku").length_budget(Stage(name="s", kind="grpo", index=0))
        ),
    ),
    "A reward without a score says nothing about why": lambda b: (
        b.error(lambda: Reward(score=None)),
    ),
    "A line for `cascade score` has a misspelt key": lambda b: (
        b.pack(),
        b.score({"ground_truth": 4, "completions": "4"}),
    ),
    "A key of the cascade file is misspelt": lambda b: (
        b.pack(),
        b.plan(CASCADE.replace("batch_size", "batchsize")),
    ),
    "A stage's domain is not installed": lambda b: (b.plan(CASCADE),),
    "The gold completion is not right": lambda b: (
        b.pack(("return str(prompt.ground_truth)\n", 'return f"It is {prompt.ground_truth}"\n')),
        b.command("check", "haiku", "--only", "gold"),
    ),
    "The trainer is not installed": lambda b: (b.command("run", "cascade.yaml"),),
}  # fmt: skip


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Bench(tmp_path, capsys)
    for module in [m for m in sys.modules if m.startswith(("fake_haiku", "other_haiku"))]:
        del sys.modules[module]


def test_the_page_lists_twenty_mistakes_and_each_has_its_test():
    assert set(rows()) == set(MISTAKES)
    assert len(MISTAKES) >= 20


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_mistake_shows_what_the_page_says(bench, monkeypatch, mistake):
    if mistake == "The trainer is not installed":
        monkeypatch.setattr("cascade_rl.cli.Registry", lambda: Registry([]))
    seen = " ".join(MISTAKES[mistake](bench)[-1].split())
    pattern = ".*?".join(map(re.escape, rows()[mistake].split("…")))
    assert re.search(pattern, seen), f"\nsaid: {rows()[mistake]}\nseen: {seen}"
