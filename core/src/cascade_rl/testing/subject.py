"""What is under test, as the checks see it: its facts, its prompts, and its answers.

Everything is asked for once, when it is first needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from cascade_rl.errors import CascadeError
from cascade_rl.testing.answers import Answer
from cascade_rl.testing.check import SkipCheck
from cascade_rl.testing.probe import Probe
from cascade_rl.types import Completion, Example, Prompt, Record

SEED, OTHER_SEED = 1, 4242
PROMPTS_SHOWN = 24
LOAD_S = 60.0


class Case(Record):
    """A completion to judge, with a name for messages."""

    label: str
    prompt: Prompt
    completion: Completion
    expected: float | None = None

    @property
    def item(self) -> dict[str, Any]:
        """The form that a probe takes."""
        return {
            "prompt": self.prompt.model_dump(mode="json"),
            "completion": self.completion.model_dump(mode="json"),
        }


class Subject:
    """One plugin with one set of options, in two processes that hash strings differently.

    Nothing in the second is asked before a check needs it.
    """

    kind = ""

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any] | None = None,
        *,
        timeout_s: float = 10.0,
        memory_mb: float = 1000.0,
    ) -> None:
        self.name, self.options = name, dict(options or {})
        self.timeout_s, self.memory_mb = timeout_s, memory_mb
        self.load_s = max(LOAD_S, timeout_s)
        self.probe = self._new_probe(SEED)
        self.other_probe = self._new_probe(OTHER_SEED)
        self.answers: dict[str, tuple[Case, Answer]] = {}

    def close(self) -> None:
        """Stop the children."""
        self.probe.close()
        self.other_probe.close()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What loading said: source, hooks, what the import cost, or what is wrong."""
        self.probe.start()
        return self.probe.facts

    def answer(self, case: Case) -> Answer:
        """What comes back for a case; asked for once."""
        key = json.dumps(case.item)
        if key not in self.answers:
            self.answers[key] = (case, self.probe.score(case.item))
        return self.answers[key][1]

    def ask(self, op: str, **fields: Any) -> Any:
        """Ask the probe; loading data may take a minute."""
        return self.probe.ask(op, timeout_s=self.load_s, **fields)

    def _new_probe(self, seed: int) -> Probe:
        init = {"kind": self.kind, "name": self.name, "options": self.options}
        return Probe(init, seed=seed, timeout_s=self.timeout_s, memory_mb=self.memory_mb)


class DomainSubject(Subject):
    """A domain: its prompts, and what it calls right and wrong."""

    kind = "domain"

    def __init__(
        self, name: str, options: Mapping[str, Any] | None = None, **limits: float
    ) -> None:
        super().__init__(name, options, **limits)
        #: What the hooks that give right completions said instead, by hook.
        self.broken: dict[str, str] = {}

    def loaded(self, split: str) -> dict[str, Any]:
        """Count, digest of the ids and a sample of a split's prompts."""
        return self._train if split == "train" else self._eval

    @cached_property
    def prompts(self) -> list[Prompt]:
        """Up to 48 prompts, spread over both splits."""
        both = [*self._train["sample"], *self._eval["sample"]]
        return [Prompt.model_validate(p) for p in both]

    @cached_property
    def examples(self) -> list[Example]:
        """The pack's examples; [] where its hook fails, see ``broken``."""
        try:
            return [Example.model_validate(e) for e in self.ask("examples")]
        except CascadeError as error:
            self.broken["examples"] = str(error)
            return []

    @cached_property
    def golds(self) -> list[Case]:
        """Completions that the pack itself calls right, for the prompts that have one.

        [] where its hook fails, see ``broken``.
        """
        if "gold_completion" not in self.facts["hooks"]:
            return []
        try:
            texts = [(p, self.ask("gold", prompt=p.model_dump(mode="json"))) for p in self.prompts]
        except CascadeError as error:
            self.broken["gold_completion"] = str(error)
            return []
        return [
            Case(label=f"the gold completion of {p.id!r}", prompt=p, completion=Completion(text=t))
            for p, t in texts
            if t is not None
        ]

    @cached_property
    def example_cases(self) -> dict[str, list[Case]]:
        """The examples as cases, by kind."""
        cases: dict[str, list[Case]] = {"right": [], "wrong": [], "hostile": []}
        for e in self.examples:
            label = f"example {e.name!r} ({e.kind})"
            cases[e.kind].append(
                Case(label=label, prompt=e.prompt, completion=e.completion, expected=e.expected)
            )
        return cases

    @property
    def right(self) -> list[Case]:
        """All completions that are known to be right: golds, then right examples."""
        return [*self.golds, *self.example_cases["right"]]

    def require_right(self) -> list[Case]:
        """Right completions; skips the check where the pack names none."""
        if not self.right:
            raise SkipCheck(
                "the pack names no right completion; add gold_completion, or examples of kind right"
            )
        return self.right

    @cached_property
    def _train(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("prompts", split="train", shown=PROMPTS_SHOWN)
        return found

    @cached_property
    def _eval(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("prompts", split="eval", shown=PROMPTS_SHOWN)
        return found
