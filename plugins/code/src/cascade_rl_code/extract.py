"""Where the program is in a completion: fenced blocks after the thoughts. Runs nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from cascade_rl.types import END_OF_THOUGHTS, Completion, Prompt

#: The words after a fence that name a language.
TAGS: dict[str, frozenset[str]] = {
    "python": frozenset({"python", "python3", "py", "py3", "cpython", "pypy", "pypy3"}),
    "cpp": frozenset({"cpp", "c++", "cxx", "cc", "c++14", "c++17", "c++20", "cpp17", "cpp20"}),
    "c": frozenset({"c", "c11", "c17"}),
    "java": frozenset({"java"}),
    "rust": frozenset({"rust", "rs"}),
    "go": frozenset({"go", "golang"}),
    "javascript": frozenset({"javascript", "js", "node", "nodejs"}),
}
#: Longer programs are not read (bytes); contests take no longer ones either.
MAX_SOURCE = 256 * 1024

_FENCE = re.compile(r"( *(?:(?:[-*+]|\d{1,9}[.)]) +)?)(`{3,}|~{3,})([^\n`]*)")
_DEFINITIONS = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
)


@dataclass(frozen=True)
class Block:
    """One fenced block; ``tag`` is the first word after the fence, in small letters."""

    tag: str
    text: str
    closed: bool


@dataclass(frozen=True)
class Extracted:
    """The program, or None and the reason why there is none."""

    program: str | None
    reason: str = ""


def extract(prompt: Prompt, completion: Completion, family: str, function: str | None) -> Extracted:
    """The program of a completion, in a language of the family (a key of ``TAGS``).

    It is the last complete block of that language; without one, the last complete block that
    names no language. Where the problem asks for a ``function``, such blocks are joined.
    """
    if prompt.mode == "think" and END_OF_THOUGHTS not in completion.text:
        return Extracted(None, "no answer: the thoughts were never closed (no </think>)")
    usable, reason = _usable(list(blocks(completion.answer)), family)
    if not usable:
        return Extracted(None, reason)
    program = join(usable, function) if function else usable[-1]
    if not program.strip():
        return Extracted(None, "no answer: the code block is empty")
    if len(program) > MAX_SOURCE:
        return Extracted(None, f"too_expensive: a program of more than {MAX_SOURCE} characters")
    return Extracted(program)


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a text, in order.

    As in CommonMark a block ends at a line with nothing but a fence of the same character
    that is at least as long as the opening one.
    """
    opened: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        match = _FENCE.fullmatch(line.removesuffix("\r").expandtabs(4))
        if opened is None:
            opened, lines = match, []
        elif match and _closes(match, opened):
            yield _block(opened, lines, closed=True)
            opened = None
        else:
            lines.append(line)
    if opened is not None:
        yield _block(opened, lines, closed=False)


def join(sources: list[str], function: str) -> str:
    """The blocks as one program: the last that defines ``function`` whole, and the
    imports, definitions and assignments of those before it.

    A draft is thereby replaced by what corrects it, and blocks that show how to call the
    function are not run.
    """
    name = re.split(r"\W", function, maxsplit=1)[0]
    defines = re.compile(rf"^(?:async +)?(?:def|class) +{re.escape(name)}\b", re.MULTILINE)
    main = next(
        (i for i in reversed(range(len(sources))) if defines.search(sources[i])),
        len(sources) - 1,
    )
    return "\n".join([*map(definitions, sources[:main]), sources[main]])


def definitions(source: str) -> str:
    """The imports, definitions and assignments at the top level; "" for what is no Python."""
    tree = parsed(source)
    if tree is None:
        return ""
    kept = [ast.get_source_segment(source, n) for n in tree.body if isinstance(n, _DEFINITIONS)]
    return "\n".join(segment for segment in kept if segment)


def parsed(source: str, longest: int = MAX_SOURCE) -> ast.Module | None:
    """The syntax tree, or None for what Python's parser refuses, or is too long to try."""
    if len(source) > longest:
        return None
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _closes(line: re.Match[str], opened: re.Match[str]) -> bool:
    fence, first = line[2], opened[2]
    return fence[0] == first[0] and len(fence) >= len(first) and not line[3].strip()


def _block(opened: re.Match[str], lines: list[str], *, closed: bool) -> Block:
    words = opened[3].strip().lower().split()
    tag = re.sub(r"[,:{(=].*", "", words[0].strip("{}").lstrip(".")) if words else ""
    indent = len(opened[1])
    # A block inside a list item is indented as a whole.
    plain = [line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines]
    return Block(tag, "".join(line.removesuffix("\r") + "\n" for line in plain), closed)


def _usable(found: list[Block], family: str) -> tuple[list[str], str]:
    if not found:
        return [], "no answer: no code block"
    closed = [block for block in found if block.closed]
    tagged = [block.text for block in closed if block.tag in TAGS.get(family, {family})]
    usable = tagged or [block.text for block in closed if not block.tag]
    if usable:
        return usable, ""
    if not closed:
        return [], "no answer: the code block never closes"
    other = ", ".join(sorted({block.tag[:20] for block in closed})[:5])
    return [], f"no answer: no code block in {family} (found: {other})"
