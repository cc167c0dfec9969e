"""The built-in prompts: "Upper sun 3 times" -> "SUN SUN SUN", for models of a few 100k weights.

Everything is ASCII and short (prompt <= 30, reply <= 30 characters) and judged by the same
verifier and the same official instruction ids as real data. No file and no network is read;
the same options give the same prompts and demonstrations on every machine.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cascade_rl.types import Demonstration, Prompt, Split
from cascade_rl_ifeval.options import Options
from cascade_rl_ifeval.vocabulary import WORDS

COUNTS = range(1, 7)
EVAL_PER_MILLE = 200


@dataclass(frozen=True)
class Task:
    """One toy request: ``word`` ``count`` times, in a case, perhaps in double quotes."""

    word: str
    count: int
    upper: bool
    quoted: bool

    @property
    def id(self) -> str:
        """Derived from the content alone: stable between runs and options."""
        case = "upper" if self.upper else "lower"
        return f"ifeval-{case}-{self.word}-{self.count}{'-quoted' if self.quoted else ''}"

    @property
    def text(self) -> str:
        """What the policy is asked."""
        ending = " in quotes" if self.quoted else ""
        return f"{'Upper' if self.upper else 'lower'} {self.word} {self.count} times{ending}"

    @property
    def reply(self) -> str:
        """The right reply."""
        word = self.word.upper() if self.upper else self.word
        text = " ".join([word] * self.count)
        return f'"{text}"' if self.quoted else text

    def instructions(self) -> list[tuple[str, dict[str, Any]]]:
        """The request in official ids: exactly n words is "at least n" and "less than n + 1"."""
        words, capitals = "length_constraints:number_words", "change_case:capital_word_frequency"
        n = self.count
        asked = [
            (words, {"relation": "at least", "num_words": n}),
            (words, {"relation": "less than", "num_words": n + 1}),
            (
                "keywords:frequency",
                {"relation": "at least", "keyword": self.word, "frequency": n},
            ),
            (
                capitals,
                {"capital_relation": "at least", "capital_frequency": n}
                if self.upper
                else {"capital_relation": "less than", "capital_frequency": 1},
            ),
        ]
        return [*asked, ("startend:quotation", {})] if self.quoted else asked

    def wrong_replies(self) -> list[str]:
        """Replies that break exactly one instruction or more: count, case, or the quotes."""
        near = self.count - 1 if self.count == COUNTS[-1] else self.count + 1
        faults = [
            Task(self.word, near, self.upper, self.quoted),
            Task(self.word, self.count, not self.upper, self.quoted),
        ]
        if self.count > 1:
            faults.append(Task(self.word, self.count - 1, self.upper, self.quoted))
        if self.quoted:
            faults.append(Task(self.word, self.count, self.upper, quoted=False))
        return [fault.reply for fault in faults]


def _hash(*parts: object) -> int:
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def is_eval(task: Task) -> bool:
    """Whether a task belongs to the eval split: a hash of its id decides, never the seed."""
    return _hash("split", task.id) % 1000 < EVAL_PER_MILLE


def tasks(split: Split, options: Options) -> list[Task]:
    """The tasks of a split, in an order drawn from the seed, at most ``options.count``."""
    every = itertools.product(WORDS, COUNTS, (True, False), (False, True))
    chosen = [task for task in itertools.starmap(Task, every) if is_eval(task) == (split == "eval")]
    chosen.sort(key=lambda task: _hash("order", options.seed, task.id))
    return chosen[: options.count]


def _fields(task: Task) -> dict[str, Any]:
    asked = task.instructions()
    return {
        "id": task.id,
        "text": task.text,
        "mode": "no_think",
        "ground_truth": {
            "instruction_id_list": [name for name, _ in asked],
            "kwargs": [arguments for _, arguments in asked],
        },
        "metadata": {"source": "builtin", "gold": task.reply},
    }


def builtin_prompts(split: Split, options: Options) -> Iterator[Prompt]:
    """The built-in prompts of a split."""
    for task in tasks(split, options):
        yield Prompt.from_text(**_fields(task))


def builtin_demonstrations(split: Split, options: Options) -> Iterator[Demonstration]:
    """``options.demonstrations`` replies per prompt; the stated share of all of them is wrong.

    The share is met exactly (rounded down): the wrong ones are the first in an order drawn
    from the seed and the ids. Variants after the first get ``#1``, ``#2`` ... after their id.
    """
    drawn = [(task, k) for task in tasks(split, options) for k in range(options.demonstrations)]
    ranked = sorted(drawn, key=lambda pair: _hash("noise", options.seed, pair[0].id, pair[1]))
    wrong = set(ranked[: int(options.demonstration_noise * len(drawn))])
    for task, k in drawn:
        fields = _fields(task) | ({"id": f"{task.id}#{k}"} if k else {})
        replies = task.wrong_replies() if (task, k) in wrong else [task.reply]
        pick = _hash("fault", options.seed, task.id, k) % len(replies)
        yield Demonstration.from_text(**fields, completion=replies[pick])
