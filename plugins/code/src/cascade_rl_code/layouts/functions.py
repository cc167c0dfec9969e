"""Problems that ask for a function, tested by asserts: HumanEval, MBPP, AceCode, LeetCode."""

from __future__ import annotations

import ast
from typing import Any

from cascade_rl_code.extract import parsed
from cascade_rl_code.layouts.contests import LEETCODE
from cascade_rl_code.layouts.problem import BadRow, Problem, optional, text_of, texts
from cascade_rl_code.layouts.tests import read_tests
from cascade_rl_code.options import Options


def humaneval(row: dict[str, Any], _: Options) -> Problem:
    """HumanEval: ``prompt`` (imports, helpers, a signature), ``test``, ``entry_point``."""
    prompt, function = text_of(row, "prompt"), text_of(row, "entry_point")
    truth = {
        "language": "python",
        "function": function,
        "prelude": helpers(prompt, function),
        "tests": [{"assert": text_of(row, "test", "tests")}],
    }
    solution = optional(row, "canonical_solution")
    return Problem(
        f"Complete this function.\n\n```python\n{prompt.strip()}\n```",
        truth,
        (prompt + solution,) if solution else (),
        id=optional(row, "task_id") or None,
    )


def mbpp(row: dict[str, Any], _: Options) -> Problem:
    """MBPP, both layouts: ``text`` or ``prompt``, ``test_list``, set-up code, ``code``."""
    asserts = texts(row.get("test_list")) + texts(row.get("challenge_test_list"))
    setup = [optional(row, "test_setup_code"), *texts(row.get("test_imports"))]
    truth = {
        "language": "python",
        "prelude": "\n".join(filter(None, setup)),
        "tests": [{"assert": code} for code in asserts],
    }
    text = text_of(row, "text", "prompt")
    if asserts:  # the only place where the function's name is
        text = f"{text.strip()}\n\nYour code should pass this test:\n\n{asserts[0].strip()}"
    number = row.get("task_id")
    return Problem(
        text,
        truth,
        texts(row.get("code")),
        id=None if number is None else f"MBPP/{number}",
    )


def acecode(row: dict[str, Any], _: Options) -> Problem:
    """AceCode: ``question`` and a list of asserts."""
    cases = row.get("test_cases") if row.get("test_cases") is not None else row.get("tests")
    tests, _name = read_tests(cases)
    truth = {"language": "python", "tests": tests}
    return Problem(text_of(row, "question", "prompt").strip(), truth, texts(row.get("solution")))


def leetcode(row: dict[str, Any], _: Options) -> Problem:
    """LeetCode problems with a program of asserts on a class ``Solution``."""
    truth = {
        "language": "python",
        "prelude": LEETCODE,
        "tests": [{"assert": text_of(row, "test", "tests")}],
    }
    return Problem(text_of(row, "prompt", "prompt_sft").strip(), truth, texts(row.get("solution")))


def helpers(prompt: str, function: str) -> str:
    """What a HumanEval prompt defines besides the function that is asked for."""
    tree = parsed(prompt) or parsed(f"{prompt}\n    pass\n")
    if tree is None:
        raise BadRow("the prompt is no Python program")
    others = [
        node
        for node in tree.body
        if not (isinstance(node, ast.FunctionDef) and node.name == function)
    ]
    segments = [ast.get_source_segment(prompt, node) for node in others]
    return "\n".join(segment for segment in segments if segment)
