"""What the README says, run."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cascade_rl_math import Options, load_prompts, verify
from cascade_rl_math.limits import (
    MAX_CHARS,
    MAX_DEPTH,
    MAX_FACTORIAL,
    MAX_ITEMS,
    MAX_SIGNS,
    MAX_VALUE_DIGITS,
    MAX_WRITTEN_DIGITS,
)

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_snippet_runs() -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(snippet, "README.md", "exec"), {})


def test_every_option_is_in_the_table() -> None:
    table = README.partition("## Options")[2].partition("**Layouts.**")[0]
    named = set(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))
    written = {name for cell in named for name in re.findall(r"`(\w+)`", cell)}
    assert written == set(Options.model_fields)


def test_the_limits_are_those_of_the_code() -> None:
    stated = (
        f"{MAX_CHARS:,} characters, brackets {MAX_DEPTH} deep, {MAX_WRITTEN_DIGITS:,} digits as"
        f" written and {MAX_VALUE_DIGITS:,} as evaluated, factorials to {MAX_FACTORIAL}!,"
        f" {MAX_ITEMS} members, {MAX_SIGNS} plus-minus signs"
    )
    assert stated in " ".join(README.split())


def test_the_number_of_kinds() -> None:
    path = Path(__file__).parent / "data" / "kinds.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    kinds = len({row["kind"] for row in rows})
    pairs = sum(1 + len(row["equal"]) + len(row["unequal"]) for row in rows)
    assert f"lists {round(pairs, -3):,} pairs of {kinds} kinds" in " ".join(README.split())


def test_the_sizes_of_the_builtin_set() -> None:
    assert len(list(load_prompts("eval", Options()))) == 748
    assert "748 of them for eval" in README


def test_known_misses_are_still_missed() -> None:
    """A miss that is fixed must leave the list."""
    missed = [
        (r"2", "z = 3 + 3 = 2"),
        (r"a_k + a_{k-1} + \ldots + a_0", r"a_0 + a_1 + \cdots + a_k"),
        (r"n = 4k+2", "those congruent to 2 modulo 4"),
        ("1", "just about 1"),
        ("5", "a+b=5"),
        ("f(x)=cx", "f(x)=ax"),
        ("(a, c)", r"(a, b) \cup [b, c)"),
        ("5050", r"\int_0^{100} (x + 0.5)\,dx"),
        ("wxyz", "zyxw"),
    ]  # fmt: skip
    assert [verify.verify(*pair).equal for pair in missed] == [False] * len(missed)
