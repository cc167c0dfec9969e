"""The hooks."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import permutations, product

from pydantic import BaseModel, ConfigDict, Field

from acme_countdown.expression import Unreadable, read
from cascade_rl import (
    Completion,
    Demonstration,
    Example,
    LengthBudget,
    Prompt,
    Reward,
    SamplingParams,
    hookimpl,
)

HOOK_VERSION = 1


class Countdown:
    """Three numbers and a target that one expression over all of them reaches."""

    class Options(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)

        count: int = Field(default=80, ge=10, le=5000)
        largest: int = Field(default=9, ge=3, le=99)
        format_score: float = Field(default=0.0, ge=0, lt=1)

    def __init__(self, options: Options) -> None:
        self._options = options

    @hookimpl
    def load_prompts(self) -> Iterator[Prompt]:
        seen: set[str] = set()
        for number in range(self._options.count):
            draw = random.Random(f"countdown {number}")
            numbers = [draw.randint(1, self._options.largest) for _ in range(3)]
            target, _ = read("{}{}{}{}{}".format(*_mixed(numbers, draw.choices("+-*", k=2))))
            prompt = puzzle(numbers, target)
            if prompt.id not in seen:
                seen.add(prompt.id)
                yield prompt

    @hookimpl
    def load_demonstrations(self) -> Iterator[Demonstration]:
        for prompt in self.load_prompts():
            completion = self.gold_completion(prompt)
            yield Demonstration(**prompt.model_dump(), completion=completion)

    @hookimpl
    def reward(self, prompt: Prompt, completion: Completion) -> Reward:
        found = re.findall(r"=\s*([^=\n]{1,200})$", completion.answer.strip()[-250:])
        if not found:
            return Reward(score=0.0, correct=False, components={"format": 0.0}, reason="no '= …'")
        given: dict[str, object] = {"components": {"format": 1.0}, "extracted": found[0]}
        try:
            value, numbers = read(found[0])
        except Unreadable as error:
            return Reward(score=0.0, correct=False, reason=str(error), **given)
        truth = prompt.ground_truth
        fits = sorted(numbers) == sorted(truth["numbers"])
        right = fits and value == truth["target"]
        reason = f"{value} from {numbers}"
        score = 1.0 if right else self._options.format_score
        return Reward(score=score, correct=right, reason=reason, **given)

    @hookimpl
    def length_budget(self) -> LengthBudget:
        return LengthBudget(prompt_tokens=48, completion_tokens=24, overlong="zero")

    @hookimpl
    def sampling_params(self) -> SamplingParams:
        return SamplingParams(temperature=1.0, n=4)

    @hookimpl
    def gold_completion(self, prompt: Prompt) -> str:
        truth = prompt.ground_truth
        for order in permutations(truth["numbers"]):
            for operators in product("+-*", repeat=2):
                a, f, b, g, c = _mixed(list(order), list(operators))
                for text in (f"{a}{f}{b}{g}{c}", f"({a}{f}{b}){g}{c}", f"{a}{f}({b}{g}{c})"):
                    if read(text)[0] == truth["target"]:
                        return f"= {text}"
        raise ValueError(f"no expression reaches {truth}")

    @hookimpl
    def examples(self) -> Iterator[Example]:
        rows = (
            ("product", "right", "= (2+3)*7", 1.0),
            ("other order", "right", "I add first.\n= 7*(3+2)", 1.0),
            ("number left out", "wrong", "= 5*7", self._options.format_score),
            ("number twice", "wrong", "= 2*3*7-7", self._options.format_score),
            ("no expression", "wrong", "35", 0.0),
            ("power", "hostile", "= 9**9**9**9", 0.0),
            ("code", "hostile", "= __import__('os').getpid()", 0.0),
            ("nested", "hostile", "= " + "(" * 60 + "35", 0.0),
        )
        for name, kind, text, expected in rows:
            yield Example(
                name=name,
                kind=kind,
                prompt=puzzle([2, 3, 7], 35),
                completion=Completion(text=text),
                expected=expected,
            )


def puzzle(numbers: list[int], target: int) -> Prompt:
    listed = " ".join(map(str, numbers))
    return Prompt.from_text(
        f"countdown-{'-'.join(map(str, numbers))}-{target}",
        f"{listed} -> {target}",
        ground_truth={"numbers": numbers, "target": target},
    )


def _mixed(numbers: list[int], operators: list[str]) -> tuple[int, str, int, str, int]:
    return numbers[0], operators[0], numbers[1], operators[1], numbers[2]
