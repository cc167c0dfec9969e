"""Test code (asserts) taken apart: what the answer computes, and what it should have been.

The answer's process must never see an expected value, nor decide whether two values are
equal. A test whose asserts all compare something that the answer returns with a constant is
*collected*: a function without the constants runs beside the answer and returns the values,
which are compared here. Every other test is *examined*: it runs as it is in a sandbox of its
own and calls the answer there (``cascade_rl.sandbox.Sandbox.examine``). Nothing is run here.
"""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from cascade_rl_code.checks import Check, expectation
from cascade_rl_code.extract import parsed
from cascade_rl_code.scope import NotCollectable, Scope

#: Characters of test code.
MAX_TEST = 16 * 1024 * 1024

_BUILTINS = frozenset(dir(builtins))


class BadTest(ValueError):
    """A test is no Python, or does not call the answer."""


@dataclass(frozen=True)
class Collected:
    """``body`` is code that calls ``keep(value)`` once for each of ``checks``, in order."""

    body: str
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Examined:
    """``source`` calls ``functions``, which live elsewhere: {name: expression there}."""

    source: str
    functions: Mapping[str, str]


@lru_cache(maxsize=512)
def plan(test: str, function: str | None = None, prelude: str = "") -> Collected | Examined:
    """How a test is run. Raises ``BadTest``.

    ``function`` is what a ``def check(candidate)`` is given that the test does not call
    itself (HumanEval); ``prelude`` holds helpers that both sides know.
    """
    tree = parsed(textwrap.dedent(test), MAX_TEST)
    if tree is None:
        raise BadTest("the test is no Python program")
    try:
        return _planned(tree, function, prelude)
    except RecursionError as error:
        raise BadTest("the test is nested too deeply") from error


def _planned(tree: ast.Module, function: str | None, prelude: str) -> Collected | Examined:
    tree = ast.Module(_with_call(tree.body, function), [])
    helpers = parsed(prelude) or ast.Module([], [])
    functions = _free_names(ast.Module([*helpers.body, *tree.body], []))
    if not functions:
        raise BadTest("the test calls nothing that the answer defines")
    try:
        return _collected(tree.body, Scope(_stored(helpers), helpers.body))
    except NotCollectable:
        source = f"{prelude}\n{ast.unparse(ast.fix_missing_locations(tree))}\n"
        return Examined(source, {name: name for name in sorted(functions)})


def _collected(body: list[ast.stmt], scope: Scope) -> Collected:
    lines: list[str] = []
    checks: list[Check] = []
    for statement in _inlined(body):
        if isinstance(statement, ast.Assert):
            if isinstance(statement.test, ast.Constant) and statement.test.value:
                continue  # `assert True`, as HumanEval has it
            value, check = expectation(statement.test, scope)
            code = ast.unparse(value)
            # Truth is asked of the object itself, as `assert` does: it need not be plain data.
            boolean = check.demand in ("true", "false")
            lines.append(f"keep(not not ({code}))" if boolean else f"keep({code})")
            checks.append(check)
        elif scope.admit(statement):
            lines.append(ast.unparse(ast.fix_missing_locations(statement)))
        scope.touch(statement)
    if not checks:
        raise NotCollectable("no asserts")
    return Collected("\n".join(lines), tuple(checks))


def _inlined(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, with the body of ``check`` in the place of its call."""
    check = _check_function(body)
    if check is None:
        return body
    inlined: list[ast.stmt] = []
    for statement in body:
        given = _given(statement)
        if given is not None:
            target = ast.Name(check.args.args[0].arg, ast.Store())
            inlined += [ast.Assign([target], given, lineno=0), *check.body]
        elif statement is not check:
            inlined.append(statement)
    return inlined


def _with_call(body: list[ast.stmt], function: str | None) -> list[ast.stmt]:
    if _check_function(body) is None or function is None or any(map(_given, body)):
        return body
    return [*body, *ast.parse(f"check({function})").body]


def _check_function(body: list[ast.stmt]) -> ast.FunctionDef | None:
    found = [
        node
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name == "check" and len(node.args.args) == 1
    ]
    return found[0] if len(found) == 1 else None


def _given(statement: ast.stmt) -> ast.expr | None:
    """What a statement ``check(f)`` gives to check."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return None
    call = statement.value
    if not (isinstance(call.func, ast.Name) and call.func.id == "check" and len(call.args) == 1):
        return None
    return call.args[0]


def _free_names(tree: ast.Module) -> set[str]:
    loaded = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return loaded - _stored(tree) - _BUILTINS


def _stored(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names
