"""Runs programs that nobody has read, and tells what they did.

    with open_sandbox() as sandbox:
        program = Program("a, b = map(int, input().split())\nprint(a + b)", "python")
        for outcome in sandbox.run(program, [TestRun(stdin=b"1 2\n")], Limits(cpu_s=2)):
            outcome.status, outcome.stdout        # Status.OK, b"3\n"

    sandbox.run(program, [TestRun(call=Call("solve", ([1, 2], 3)))])   # outcome.value
    sandbox.run(..., stop_on=lambda outcome: not outcome.ok)           # early stop
    sandbox.check(checker, [TestRun(argv=("{input}", "{output}", "{answer}"), files=...)])
    sandbox.interact(program, interactor, TestRun(argv=("{input}",), files=...))
    sandbox.examine(program, Program("assert candidate(1) == 2"), {"candidate": "increment"})

What is expected of a program is never given to ``run``: compare outside.
"""

from cascade_rl.sandbox.base import COMPILE_LIMITS, Sandbox
from cascade_rl.sandbox.errors import (
    LanguageMissing,
    SandboxError,
    SandboxUnavailable,
    UnknownLanguage,
)
from cascade_rl.sandbox.languages import LANGUAGES, Language, find_language
from cascade_rl.sandbox.opening import KINDS, open_sandbox
from cascade_rl.sandbox.types import (
    Call,
    Exchange,
    Isolation,
    Limits,
    Outcome,
    Program,
    Status,
    TestRun,
)

__all__ = [
    "COMPILE_LIMITS",
    "KINDS",
    "LANGUAGES",
    "Call",
    "Exchange",
    "Isolation",
    "Language",
    "LanguageMissing",
    "Limits",
    "Outcome",
    "Program",
    "Sandbox",
    "SandboxError",
    "SandboxUnavailable",
    "Status",
    "TestRun",
    "UnknownLanguage",
    "find_language",
    "open_sandbox",
]
