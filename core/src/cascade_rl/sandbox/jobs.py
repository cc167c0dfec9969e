"""Requests to a guest: a program's command line, its limits, and the bytes that go along."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from cascade_rl.sandbox.errors import SandboxError
from cascade_rl.sandbox.guest import values
from cascade_rl.sandbox.languages import Language
from cascade_rl.sandbox.types import Limits, Program, TestRun

_MB = 1 << 20
_STACK = 256 * _MB
_SLACK_MB = 4096  # address space that may be reserved and never used
_SLACK_WITHOUT_CGROUP_MB = 1024
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")

Request = tuple[dict[str, Any], bytes]


@dataclass(frozen=True)
class Traits:
    """What the wall round a guest enforces by itself, so that the guest need not."""

    namespace: bool
    """The guest is process 1 of its own pid namespace."""
    cgroup: bool
    """Memory of the whole tree is limited from outside, run by run."""
    own_user: bool
    """Processes of the guest's user are the guest's only, so they can be counted by user."""


def memory_of(limits: Limits, language: Language) -> int:
    """MiB for the program and what its language takes."""
    return limits.memory_mb + language.overhead_mb


def processes_of(limits: Limits, language: Language) -> int:
    """Processes and threads for the program and its language."""
    return limits.processes + language.overhead_threads


def timeout_s(limits: Limits) -> float:
    """After this a guest is given up: beyond what it allows a run on a starved machine."""
    return 25 * (limits.cpu_s + limits.wall_s) + 120


def limits_for(limits: Limits, language: Language, traits: Traits) -> dict[str, Any]:
    """The limits as the guest wants them: bytes, and None for what is not its business."""
    memory_mb = memory_of(limits, language)
    slack = _SLACK_MB if traits.cgroup else _SLACK_WITHOUT_CGROUP_MB
    bounded = language.bounded_address_space
    return {
        "cpu_s": limits.cpu_s,
        "wall_s": limits.wall_s,
        "output": limits.output_kb * 1024 + 1,  # one byte more than allowed, to tell "too much"
        "address_space": (memory_mb + slack) * _MB if bounded else None,
        "stack": min(_STACK, limits.memory_mb * _MB),
        "files": 64 if bounded else 256,
        "nproc": processes_of(limits, language) + 1 if traits.own_user else None,
        "tree_kb": None if traits.cgroup else memory_mb * 1024,
        "poll_s": 0.25 if traits.cgroup else 0.05,
        "namespace": traits.namespace,
    }


def run_request(
    language: Language, test: TestRun, limits: Limits, traits: Traits, tools: dict[str, str]
) -> Request:
    """One run of the loaded program; raises ``SandboxError`` for what cannot be asked."""
    role, argv, stdin = "execute", list(test.argv), test.stdin
    if test.call is not None:
        if not language.native_python:
            raise SandboxError(f"only Python functions can be called, not {language.name}")
        role, stdin = "call", _call_bytes(test)
    elif language.native_python:
        role = "script"
    else:
        memory = str(memory_of(limits, language))
        argv = _filled(language.run, {**tools, "memory_mb": memory}) + argv
    request = {
        "op": "run",
        "role": role,
        "argv": argv,
        "env": {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **language.env},
        "stdin": len(stdin),
        "files": [[name, len(data)] for name, data in test.files.items()],
        "limits": limits_for(limits, language, traits),
        "pass_artifact": language.passes_artifact,
        "functions": [],
    }
    return request, stdin + b"".join(test.files.values())


def talk_request(request: Request, role: str, heard: int, functions: list[list[str]]) -> Request:
    """The same run as one side of a conversation; ``heard`` is the most bytes it may be told."""
    header, payload = request
    role = role or header["role"]
    limits = {**header["limits"], "input": heard}
    return {**header, "op": "talk", "role": role, "limits": limits, "functions": functions}, payload


def build_request(
    program: Program, language: Language, limits: Limits, traits: Traits, tools: dict[str, str]
) -> Request:
    """Compile in the workspace; raises ``SandboxError`` for a header's name that is a path."""
    names = {**tools, **language.names(program.source)}
    names["source"] = language.source
    names = {key: _filled_word(value, names) for key, value in names.items()}
    for name in program.headers:
        if not _FILE_NAME.fullmatch(name):
            raise SandboxError(f"header {name!r}: a plain file name is wanted, such as testlib.h")
    sources = {names["source"]: source_bytes(program), **program.headers}
    request = {
        "op": "build",
        "role": "execute",
        "sources": [[name, len(data)] for name, data in sources.items()],
        "steps": [_filled(step, names) for step in language.steps],
        "output": language.output,
        "env": _build_env(language),
        "limits": {
            **limits_for(limits, language, traits),
            "address_space": None,
            "files": 256,
            "stack": _STACK,
        },
        "pass_artifact": False,
    }
    return request, b"".join(sources.values())


def source_bytes(program: Program) -> bytes:
    """The source as a file; lone surrogates become bytes that no compiler accepts."""
    return program.source.encode("utf-8", "surrogatepass")


def _build_env(language: Language) -> dict[str, str]:
    here = {"HOME": "{workspace}", "TMPDIR": "{workspace}/tmp", "GOCACHE": "{workspace}/tmp/go"}
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **here, **language.env}


def _call_bytes(test: TestRun) -> bytes:
    call = test.call
    assert call is not None
    try:
        spec = [call.function, list(call.args), dict(call.kwargs), call.return_args]
        return values.dumps(spec)
    except values.NotPlain as error:
        raise SandboxError(f"the arguments of {call.function} cannot be sent: {error}") from error


def _filled(words: tuple[str, ...], names: dict[str, str]) -> list[str]:
    return [word for word in (_filled_word(word, names) for word in words) if word]


def _filled_word(word: str, names: dict[str, str]) -> str:
    for key, value in names.items():
        word = word.replace(f"{{{key}}}", value)
    return word
