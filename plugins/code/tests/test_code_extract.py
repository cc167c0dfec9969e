"""Where the program is in a completion."""

from __future__ import annotations

import pytest

from cascade_rl.types import Completion, Prompt
from cascade_rl_code.extract import MAX_SOURCE, blocks, extract, join


def found(text, family="python", function=None, mode="none"):
    prompt = Prompt.from_text("p", "?", mode=mode)
    return extract(prompt, Completion(text=text), family, function)


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```python\nprint(1)\n```", "print(1)\n"),
        ("```py\nprint(1)\n```", "print(1)\n"),
        ("```Python3 title=a.py\nprint(1)\n```", "print(1)\n"),
        ("```{.python}\nprint(1)\n```", "print(1)\n"),
        ("~~~python\nprint(1)\n~~~", "print(1)\n"),
        ("````python\nprint('''\n```\n''')\n````", "print('''\n```\n''')\n"),
        ("```python\nprint(1)\n```   ", "print(1)\n"),
        ("```python\r\nprint(1)\r\n```\r\n", "print(1)\n"),
        ("1. Do\n   ```python\n   if 1:\n       print(1)\n   ```", "if 1:\n    print(1)\n"),
        ("- ```python\n  print(1)\n  ```", "print(1)\n"),
        ("```\nprint(1)\n```", "print(1)\n"),
        ("```python\na\n```\n```python\nb\n```", "b\n"),
        ("```python\na\n```\nIt prints\n```\n7\n```", "a\n"),
        ("```python\na\n```\n```cpp\nb\n```", "a\n"),
        ("```python\na\n```\n```python\nb", "a\n"),
        ("```python\ns = '''\n```python\n'''\n```", "s = '''\n```python\n'''\n"),
        ("<think>```python\na\n```</think>```python\nb\n```", "b\n"),
    ],
)
def test_the_last_complete_block_of_the_language(text, program):
    assert found(text).program == program


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no answer: no code block"),
        ("print(1)", "no answer: no code block"),
        ("`print(1)`", "no answer: no code block"),
        ("```print(1)```", "no answer: no code block"),
        ("```python\nprint(1)", "no answer: the code block never closes"),
        ("```python\nprint(1)\n``", "no answer: the code block never closes"),
        ("````python\nprint(1)\n```", "no answer: the code block never closes"),
        ("```python\nprint(1)\n~~~", "no answer: the code block never closes"),
        ("```cpp\nx\n```\n```c\ny\n```", "no answer: no code block in python (found: c, cpp)"),
        ("```python\n```", "no answer: the code block is empty"),
        ("```python\n  \n```", "no answer: the code block is empty"),
        ("<think>```python\na\n```</think>", "no answer: no code block"),
    ],
)
def test_no_program_has_a_reason(text, reason):
    assert (found(text).program, found(text).reason) == (None, reason)


def test_in_think_mode_the_thoughts_must_be_closed():
    text = "```python\na\n```"
    assert found(text, mode="think").program is None
    assert "no </think>" in found(text, mode="think").reason
    assert found("<think>hm</think>" + text, mode="think").program == "a\n"
    assert found(text, mode="no_think").program == "a\n"


@pytest.mark.parametrize("tag", ["cpp", "c++", "C++17", "cc"])
def test_other_languages_by_their_tags(tag):
    assert found(f"```{tag}\nint main(){{}}\n```", "cpp").program == "int main(){}\n"
    assert found(f"```{tag}\nint main(){{}}\n```", "c").program is None


def test_a_program_that_is_too_long_is_wrong():
    long = "#" * (MAX_SOURCE + 1)
    assert found(f"```python\n{long}\n```").reason.startswith("too_expensive")


def test_functions_are_joined_from_all_blocks():
    text = (
        "```python\nimport math\nLIMIT = 5\nprint('draft')\n```\n"
        "```python\ndef f(n):\n    return math.sqrt(n) + LIMIT\n```\n"
        "Use it:\n```python\nprint(f(int(input())))\n```"
    )
    program = found(text, function="f").program
    assert program == "import math\nLIMIT = 5\ndef f(n):\n    return math.sqrt(n) + LIMIT\n"


def test_the_last_definition_of_the_function_counts():
    draft, final = "def f(n): return n\n", "def f(n): return n * n\nX = [f(2)]\n"
    assert join([draft, final], "f") == f"{draft.strip()}\n{final}"
    assert join([draft, "f(1)\n"], "f") == draft
    assert join(["def f(:", final], "f") == f"\n{final}"
    assert join(["class Solution: pass", "x"], "Solution().f") == "class Solution: pass"


def test_blocks_keep_what_is_between():
    assert [(b.tag, b.text, b.closed) for b in blocks("```a b\n\n  x\n```\n~~~\ny")] == [
        ("a", "\n  x\n", True),
        ("", "y\n", False),
    ]


@pytest.mark.parametrize(
    "text", ["```" * 50_000, "```python\n" * 20_000, "`" * 10**6, "\n" * 10**6]
)
def test_many_fences_hold_no_program_and_end(text):
    assert not (found(text).program or "").strip()
