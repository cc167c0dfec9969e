"""A data lint: does the prompt ask for what its label checks? It never changes a verdict.

Published sets hold prompts whose text names one number and whose kwargs hold another. The
verdict follows the kwargs, because that is what the number in a table means; the finding is
reported by the loader and carried in the reward's reason. Only numbers are compared, and
only where the text names the unit ("50 words"): no finding is no proof.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cascade_rl_ifeval.instructions.base import Counted
from cascade_rl_ifeval.verifier import Requirement

_SPELT = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty"
)
_NUMBERS = {word: number for number, word in enumerate(_SPELT.split())}
_UNITS = {
    "words": "words?",
    "sentences": "sentences?",
    "paragraphs": "paragraphs?",
    "bullets": "bullets?|bullet points?",
    "placeholders": "placeholders?",
    "sections": "sections?",
    "times": "times?",
}
# A number, perhaps "+" or "or more", perhaps one other word ("3 highlighted sections").
_BETWEEN = r"(?:(?!(?:the|of|in|and|or|your|my|our|these|those)\b)[a-z]+\s+)?"
_MENTION = {
    unit: re.compile(
        rf"\b(\d[\d,]{{0,8}}|{'|'.join(_NUMBERS)})(?:\s*\+|\s+or\s+\w+)?[\s-]+{_BETWEEN}(?:{names})\b",
        re.IGNORECASE,
    )
    for unit, names in _UNITS.items()
}


def findings(text: str, required: Sequence[Requirement]) -> list[str]:
    """What looks wrong about a label, one sentence each; [] for nothing."""
    return [*_repeated(required), *_impossible(required), *_contradictions(text, required)]


def _repeated(required: Sequence[Requirement]) -> list[str]:
    seen: list[tuple[object, object]] = []
    found = []
    for requirement in required:
        key = (requirement.instruction.id, requirement.arguments)
        if key in seen:
            found.append(f"{requirement.name} repeats an instruction with the same arguments")
        seen.append(key)
    return found


def _impossible(required: Sequence[Requirement]) -> list[str]:
    """Demands that no response can meet: they score 0 whatever is written."""
    found = [
        f"{item.name} can never be followed: {item.arguments.impossible}"
        for item in required
        if item.arguments.impossible
    ]
    bounds: dict[tuple[str, str], dict[str, list[int]]] = {}
    for item in required:
        if isinstance(item.arguments, Counted):
            counted = item.arguments.model_dump_json(exclude={"bound", "relation"})
            pair = bounds.setdefault((item.instruction.id, counted), {})
            pair.setdefault(item.arguments.relation, []).append(item.arguments.bound)
    for (instruction, _), pair in bounds.items():
        if len(pair) == 2 and max(pair["at least"]) >= min(pair["less than"]):
            low, high = max(pair["at least"]), min(pair["less than"])
            found.append(f"{instruction}: at least {low} and less than {high} exclude each other")
    return found


def _contradictions(text: str, required: Sequence[Requirement]) -> list[str]:
    """The numbers in the label that the text does not name, where it names others."""
    found = []
    for unit in dict.fromkeys(r.instruction.unit for r in required if r.instruction.unit):
        counted = [r for r in required if r.instruction.unit == unit]
        named = mentions(text, unit)
        known = {number for r in counted for number in r.arguments.numbers}
        if not any(not _near(number, known) for number in named):
            continue
        found += [
            f"{r.name}: the prompt says {_listed(named)} {unit}, kwargs say "
            f"{_listed(r.arguments.numbers)}"
            for r in counted
            if not all(_near(number, named) for number in r.arguments.numbers)
        ]
    return found


def mentions(text: str, unit: str) -> set[int]:
    """The numbers which a text names with a unit."""
    return {
        _NUMBERS[spelt.lower()] if spelt.lower() in _NUMBERS else int(spelt.replace(",", ""))
        for spelt in _MENTION[unit].findall(text)
    }


def _near(number: int, others: set[int]) -> bool:
    """Whether a number is among others; one off is the same ("at most 9", less than 10)."""
    return any(abs(number - other) <= 1 for other in others)


def _listed(numbers: set[int] | frozenset[int]) -> str:
    return " and ".join(map(str, sorted(numbers)))
