"""Tests as data sets write them, to the pack's own form.

The shapes seen in public data: ``{"inputs", "outputs", "fn_name"?}`` (APPS, TACO,
PrimeIntellect), ``[{"input", "output", "testtype"?, "fn_name"?}]`` (LiveCodeBench, rllm),
``[[input, output]]``, and lists of asserts (AceCode, MBPP).
"""

from __future__ import annotations

import json
from typing import Any

from cascade_rl_code.layouts.problem import BadRow, decoded

Tests = list[dict[str, Any]]


def read_tests(value: Any, function: str | None = None) -> tuple[Tests, str | None]:
    """The tests, and the name of the function they call (None: they are programs' tests)."""
    value = _json_or_code(value)
    if isinstance(value, dict):
        name = value.get("fn_name") or function
        inputs, outputs = value.get("inputs"), value.get("outputs")
        if not isinstance(inputs, list) or not isinstance(outputs, list):
            raise BadRow("tests need the lists inputs and outputs")
        if len(inputs) != len(outputs):
            raise BadRow(f"{len(inputs)} inputs but {len(outputs)} outputs")
        return _paired(inputs, outputs, name), name
    if not isinstance(value, list):
        raise BadRow(f"tests are a {type(value).__name__}; a list or an object is read")
    if all(isinstance(item, str) for item in value):
        return [{"assert": item} for item in value], function
    return _listed(value, function)


def _json_or_code(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return decoded(value, "tests") if value.lstrip()[:1] in ("[", "{") else [value]


def _listed(items: list[Any], function: str | None) -> tuple[Tests, str | None]:
    inputs, outputs, name = [], [], function
    for number, item in enumerate(items):
        if isinstance(item, dict) and {"input", "output"} <= item.keys():
            inputs.append(item["input"])
            outputs.append(item["output"])
            name = name or _function_name(item)
        elif isinstance(item, list) and len(item) == 2:
            inputs.append(item[0])
            outputs.append(item[1])
        else:
            raise BadRow(f"test {number} is neither an input and an output nor an assert")
    functional = any(isinstance(item, dict) and _is_functional(item) for item in items)
    if functional and name is None:
        raise BadRow("tests call a function but nothing says its name")
    if not functional:
        name = None
    lines = functional and all(isinstance(text, str) for text in inputs)
    if lines:
        return [_from_lines(i, o) for i, o in zip(inputs, outputs, strict=True)], name
    return _paired(inputs, outputs, name), name


def _function_name(item: dict[str, Any]) -> str | None:
    metadata = item.get("metadata")
    inner = metadata.get("func_name") if isinstance(metadata, dict) else None
    name = item.get("fn_name") or inner
    return name if isinstance(name, str) else None


def _is_functional(item: dict[str, Any]) -> bool:
    return item.get("testtype") == "functional" or item.get("type") == "function_call"


def _from_lines(inputs: str, output: Any) -> dict[str, Any]:
    """LiveCodeBench writes one argument a line, and everything in JSON."""
    args = [decoded(line, "a test's input") for line in inputs.split("\n") if line.strip()]
    return {"args": args, "returns": decoded(output, "a test's output")}


def _paired(inputs: list[Any], outputs: list[Any], name: str | None) -> Tests:
    if name is None:
        return [
            {"stdin": _as_text(given), "stdout": _as_text(wanted)}
            for given, wanted in zip(inputs, outputs, strict=True)
        ]
    # Many rows put the one returned value into a list; if every row does, it is that.
    wrapped = all(isinstance(wanted, list) and len(wanted) == 1 for wanted in outputs)
    tests = []
    for given, wanted in zip(inputs, outputs, strict=True):
        args = decoded(given, "a test's input")
        returns = wanted[0] if wrapped else wanted
        tests.append({"args": args if isinstance(args, list) else [args], "returns": returns})
    return tests


def _as_text(value: Any) -> str:
    if isinstance(value, list):  # of lines
        return "\n".join(map(_as_text, value))
    if isinstance(value, str):
        return value
    return json.dumps(value)
