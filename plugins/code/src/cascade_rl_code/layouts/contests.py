"""Contest problems: APPS and TACO, CodeContests, DeepCoder and PrimeIntellect."""

from __future__ import annotations

import re
from typing import Any

from cascade_rl_code.layouts.problem import BadRow, Problem, decoded, optional, text_of, texts
from cascade_rl_code.layouts.tests import read_tests
from cascade_rl_code.options import Options

_SECONDS = re.compile(r"([0-9.]+)\s*s", re.IGNORECASE)
_MEGABYTES = re.compile(r"([0-9.]+)\s*(g|m)", re.IGNORECASE)
#: CodeContests numbers its languages.
_LANGUAGES = {"python": 3, "cpp": 2, "java": 4}
_PUBLIC, _PRIVATE, _GENERATED = "public_tests", "private_tests", "generated_tests"


def apps(row: dict[str, Any], options: Options) -> Problem:
    """APPS and TACO: ``question``, ``input_output`` and ``solutions``, the last two JSON texts."""
    tests, function = read_tests(row.get("input_output"), optional(row, "fn_name") or None)
    limits: dict[str, float] = {}
    seconds = _SECONDS.search(optional(row, "time_limit"))
    if seconds:
        limits["cpu_s"] = float(seconds[1])
    memory = _MEGABYTES.search(optional(row, "memory_limit"))
    if memory:
        limits["memory_mb"] = float(memory[1]) * (1024 if memory[2].lower() == "g" else 1)
    solutions = _all_texts(row.get("solutions"))
    return contest(
        text_of(row, "question"), tests, function, options, limits, solutions,
        optional(row, "starter_code"),
    )  # fmt: skip


def code_contests(row: dict[str, Any], options: Options) -> Problem:
    """CodeContests: three groups of tests as lists of inputs and outputs, limits in seconds."""
    if row.get("input_file") or row.get("output_file"):
        raise BadRow("the problem reads or writes files instead of standard input and output")
    tests: list[dict[str, Any]] = []
    for name in (_PUBLIC, _PRIVATE, _GENERATED):
        group = row.get(name) or {}
        pairs = {"inputs": group.get("input") or [], "outputs": group.get("output") or []}
        tests += read_tests(pairs)[0]
    limits: dict[str, float] = {}
    time = row.get("time_limit") or {}
    if time.get("seconds") or time.get("nanos"):
        limits["cpu_s"] = float(time.get("seconds") or 0) + float(time.get("nanos") or 0) / 1e9
    if row.get("memory_limit_bytes"):
        limits["memory_mb"] = float(row["memory_limit_bytes"]) / 2**20
    solutions = _of_language(row.get("solutions") or {}, options.language)
    return contest(text_of(row, "description"), tests, None, options, limits, solutions)


def deepcoder(row: dict[str, Any], options: Options) -> Problem:
    """DeepCoder, rllm, PrimeIntellect: ``problem`` and ``tests`` in any of their shapes.

    PrimeIntellect has ``prompt`` and ``verification_info`` (JSON with ``test_cases``).
    """
    info = decoded(row.get("verification_info"), "verification_info") or {}
    value = row.get("tests") if row.get("tests") is not None else info.get("test_cases")
    metadata = decoded(row.get("metadata"), "metadata") or {}
    name = metadata.get("func_name") if isinstance(metadata, dict) else None
    tests, function = read_tests(value, name)
    solutions = _all_texts(row.get("solutions")) or texts(row.get("gold_standard_solution"))
    text = text_of(row, "problem", "prompt", "question")
    return contest(text, tests, function, options, {}, solutions, optional(row, "starter_code"))


def contest(
    text: str,
    tests: list[dict[str, Any]],
    function: str | None,
    options: Options,
    limits: dict[str, float],
    solutions: tuple[str, ...] = (),
    starter: str = "",
) -> Problem:
    """A problem of a contest; its time limit is the data's, times the factor for Python."""
    language = "python" if function or any("assert" in test for test in tests) else options.language
    truth: dict[str, Any] = {"language": language, "tests": tests}
    if function:
        truth |= {"function": function, "prelude": LEETCODE}
    if "cpu_s" in limits and language == "python":
        limits = limits | {"cpu_s": limits["cpu_s"] * options.time_factor}
    if "memory_mb" in limits:
        limits = limits | {"memory_mb": max(int(limits["memory_mb"]), 256)}
    if limits:
        truth["limits"] = limits
    return Problem(text.strip(), truth, solutions, starter=starter)


def _all_texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        value = decoded(value, "solutions")
    return texts(value)


def _of_language(solutions: dict[str, Any], language: str) -> tuple[str, ...]:
    number = _LANGUAGES.get(re.sub(r"\d+$", "", language))
    pairs = zip(solutions.get("language") or [], solutions.get("solution") or [], strict=False)
    return tuple(source for code, source in pairs if code in (number, language.upper()))


#: What LeetCode has imported and defined before an answer. The last import gives back what
#: the others take, such as pow.
LEETCODE = """\
from typing import *
from collections import *
from functools import *
from itertools import *
from heapq import *
from bisect import *
from math import *
from operator import *
import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys
from builtins import *
class ListNode:
    def __init__(self, val=0, next=None):
        self.val, self.next = val, next
class TreeNode:
    def __init__(self, val=0, left=None, right=None):
        self.val, self.left, self.right = val, left, right
"""
