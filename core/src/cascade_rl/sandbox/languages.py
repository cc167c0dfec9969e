"""The languages, as one table. A row says how to compile and how to run; nothing is branched on.

In a command, ``{tool}`` is the path of a tool of the row, ``{source}`` the source's file name,
``{artifact}`` the path of what compiling made, and ``{memory_mb}`` the program's memory limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cascade_rl.sandbox.errors import UnknownLanguage

Words = tuple[str, ...]


def _no_names(_source: str) -> dict[str, str]:
    return {}


@dataclass(frozen=True)
class Language:
    """One row."""

    name: str
    aliases: Words
    tools: Words
    source: str
    """The source's file name, with placeholders of ``names``."""
    run: Words
    """The command of a run; for Python empty: a fork of the warm interpreter."""
    steps: tuple[Words, ...] = ()
    """The commands that compile; where empty, the guest's own Python compiles to bytecode."""
    output: str = "answer"
    """The file that the steps make."""
    names: Callable[[str], dict[str, str]] = _no_names
    """Further placeholders, read off the source."""
    passes_artifact: bool = False
    """Whether the run's program opens the artifact (False: it is the artifact)."""
    overhead_mb: int = 0
    """Memory that the language itself takes, on top of the program's limit."""
    overhead_threads: int = 0
    bounded_address_space: bool = True
    """False where the runtime reserves address space far beyond what it uses."""
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def native_python(self) -> bool:
        """Whether a run is a fork of the guest's warm interpreter."""
        return not self.run


_JAVA_WORD = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""  # not code
    r"|(?P<brace>[{}])"
    r"|(?P<public>\bpublic\s+(?:(?:final|abstract|strictfp)\s+)*)?\b(?:class|enum|record)\s+(?P<name>\w+)"
    r"|(?P<main>\bvoid\s+main\s*\()",
    re.DOTALL,
)


def _java_names(source: str) -> dict[str, str]:
    """The file, which must be named like the public class, and the class that has ``main``."""
    depth, public, current, main = 0, None, "Main", None
    for found in _JAVA_WORD.finditer(source):
        depth += {"{": 1, "}": -1}.get(found["brace"] or "", 0)
        if found["name"] and depth == 0:
            current = found["name"]
            public = public or (current if found["public"] else None)
        elif found["main"] and main is None:
            main = current
    return {"file": public or main or current, "main": main or public or current}


def _compiled(name: str, aliases: Words, compiler: str, standard: str, source: str) -> Language:
    flags = ("-O2", f"-std={standard}", "-pipe", "-w", "-o", "answer", "{source}", "-lm")
    return Language(
        name=name,
        aliases=aliases,
        tools=(compiler,),
        source=source,
        steps=((f"{{{compiler}}}", "{static}", *flags),),
        run=("{artifact}",),
    )


_RUN_SCRIPT = """\
globalThis.require = require; globalThis.module = module; globalThis.exports = module.exports;
const code = require('fs').readFileSync('{artifact}', 'utf8');
require('vm').runInThisContext(code, {filename: 'answer.js'});
"""

_ROWS = (
    Language(name="python", aliases=("py", "py3", "python3"), tools=(), source="answer.py", run=()),
    _compiled("c", ("c17", "c11"), "gcc", "gnu17", "answer.c"),
    _compiled("cpp17", ("cpp", "c++", "c++17", "cc"), "g++", "gnu++17", "answer.cpp"),
    _compiled("cpp20", ("c++20",), "g++", "gnu++20", "answer.cpp"),
    Language(
        name="java",
        aliases=(),
        tools=("javac", "jar", "java"),
        source="{file}.java",
        names=_java_names,
        steps=(
            ("{javac}", "-J-Xmx1g", "-proc:none", "-nowarn", "-d", "classes", "{source}"),
            ("{jar}", "-J-Xmx1g", "cfe", "answer.jar", "{main}", "-C", "classes", "."),
        ),
        output="answer.jar",
        run=(
            "{java}",
            "-Xmx{memory_mb}m",
            "-Xss64m",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            "-XX:TieredStopAtLevel=1",
            "-Djava.io.tmpdir=/",
            "-jar",
            "{artifact}",
        ),
        passes_artifact=True,
        overhead_mb=192,
        overhead_threads=32,
        bounded_address_space=False,
    ),
    Language(
        name="rust",
        aliases=("rs",),
        tools=("rustc", "gcc"),
        source="answer.rs",
        steps=(
            (
                *("{rustc}", "--edition=2021", "-O", "-C", "linker={gcc}", "--cap-lints=allow"),
                *("--crate-type=bin", "--crate-name=answer", "-o", "answer", "{source}"),
            ),
        ),
        run=("{artifact}",),
    ),
    Language(
        name="go",
        aliases=("golang",),
        tools=("go",),
        source="answer.go",
        steps=(("{go}", "build", "-o", "answer", "{source}"),),
        run=("{artifact}",),
        overhead_mb=32,
        overhead_threads=32,
        bounded_address_space=False,
        env=MappingProxyType({"CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}),
    ),
    Language(
        name="javascript",
        aliases=("js", "node", "nodejs"),
        tools=("node",),
        source="answer.js",
        steps=(("{node}", "--check", "{source}"),),
        output="answer.js",
        run=(
            "{node}",
            "--max-old-space-size={memory_mb}",
            "--stack-size=65500",
            "-e",
            _RUN_SCRIPT,
        ),
        passes_artifact=True,
        overhead_mb=128,
        overhead_threads=32,
        bounded_address_space=False,
    ),
)

#: Name -> row.
LANGUAGES: Mapping[str, Language] = MappingProxyType({row.name: row for row in _ROWS})
_ALIASES = {alias: row for row in _ROWS for alias in (row.name, *row.aliases)}


def find_language(name: str) -> Language:
    """The row for a name or alias, in any case; raises ``UnknownLanguage``."""
    row = _ALIASES.get(name.strip().lower())
    if row is None:
        raise UnknownLanguage(
            f"unknown language {name!r}; known: {', '.join(LANGUAGES)} "
            f"(also {', '.join(sorted(set(_ALIASES) - set(LANGUAGES)))})"
        )
    return row
