"""Judging a response: strict and loose, one verdict per instruction. Pure, no I/O.

Strict reads the response as it is. Loose also accepts it without its first line, its last
line or both, each with and without asterisks: eight variants, and an instruction counts as
followed when any of them follows it (arXiv 2311.07911, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue, ValidationError

from cascade_rl_ifeval.instructions import INSTRUCTIONS, Arguments, Instruction
from cascade_rl_ifeval.labels import clean_arguments, parse_label, plain


class BadLabel(ValueError):
    """A ground truth that cannot be judged against; the text says what and where."""


@dataclass(frozen=True)
class Requirement:
    """One instruction of one prompt, its arguments checked. ``name`` is unique in the prompt."""

    name: str
    instruction: Instruction
    arguments: Arguments

    def fault(self, response: str) -> str | None:
        """None when the response follows, else why not. A blank response follows nothing."""
        if not response.strip():
            return "empty response"
        return self.instruction.check(response, self.arguments)


@dataclass(frozen=True)
class Verdict:
    """What became of one requirement. ``fault`` is None when it is followed strictly."""

    requirement: Requirement
    fault: str | None
    loose: bool

    @property
    def strict(self) -> bool:
        """Followed by the response as it is."""
        return self.fault is None


def requirements(ground_truth: Any) -> list[Requirement]:
    """The requirements of a ground truth ``{"instruction_id_list": [...], "kwargs": [...]}``.

    Raises ``BadLabel`` on an unknown id, on arguments that are missing, unknown or of the
    wrong type, and on lists that do not fit together.
    """
    ids, kwargs = _lists(ground_truth)
    return [
        _requirement(k, name, given)
        for k, (name, given) in enumerate(zip(ids, kwargs, strict=True))
    ]


def ground_truth_of(required: list[Requirement]) -> dict[str, JsonValue]:
    """The ground truth that asks for these, in its plainest form."""
    return {
        "instruction_id_list": [item.instruction.id for item in required],
        "kwargs": [item.arguments.model_dump(mode="json", by_alias=True) for item in required],
    }


def loose_variants(response: str) -> list[str]:
    """The eight readings of a response, the response itself first, without repeats."""
    lines = response.split("\n")
    cuts = [response, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    return list(dict.fromkeys(cuts + [cut.replace("*", "") for cut in cuts]))


def judge(response: str, required: list[Requirement], *, loose: bool = True) -> list[Verdict]:
    """One verdict per requirement, in order. ``loose=False`` skips the loose readings."""
    variants = loose_variants(response)[1:] if loose else []
    verdicts = []
    for requirement in required:
        fault = requirement.fault(response)
        followed = fault is None or any(requirement.fault(text) is None for text in variants)
        verdicts.append(Verdict(requirement, fault, followed))
    return verdicts


def _lists(ground_truth: Any) -> tuple[list[Any], list[Any]]:
    truth = _label(ground_truth, "ground truth")
    if not isinstance(truth, dict):
        raise BadLabel(f"ground truth must be an object, got {type(truth).__name__}")
    ids, kwargs = (_label(truth.get(name), name) for name in ("instruction_id_list", "kwargs"))
    if not isinstance(ids, list) or not ids:
        raise BadLabel(f"instruction_id_list must be a list with an id or more, got {ids!r}")
    if not isinstance(kwargs, list) or len(kwargs) != len(ids):
        got = len(kwargs) if isinstance(kwargs, list) else repr(kwargs)
        raise BadLabel(f"kwargs must be a list of {len(ids)} (one for each id), got {got}")
    return ids, kwargs


def _label(value: Any, where: str) -> Any:
    try:
        return plain(parse_label(value))
    except ValueError as error:
        raise BadLabel(f"{where}: {error}") from error


def _requirement(index: int, id: Any, given: Any) -> Requirement:
    name = f"{index}:{id}"
    instruction = INSTRUCTIONS.get(id) if isinstance(id, str) else None
    if instruction is None:
        raise BadLabel(f"unknown instruction id {id!r} (position {index})")
    given = {} if given is None else _label(given, f"{name}: kwargs")
    if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
        raise BadLabel(f"{name}: kwargs must be an object, got {given!r}")
    try:
        arguments = instruction.arguments.model_validate(clean_arguments(given))
    except ValidationError as error:
        raise BadLabel(f"{name}: {_first_problems(error)}") from error
    return Requirement(name, instruction, arguments)


def _first_problems(error: ValidationError) -> str:
    problems = [
        f"{'.'.join(map(str, item['loc']))}: {item['msg']} (got {item['input']!r:.60})"
        for item in error.errors(include_url=False)
    ]
    return "; ".join(problems[:3])
