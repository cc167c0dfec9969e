"""Which parts of a test's code may run beside the answer: a reading of its names.

A value is *the answer's* when it comes from a name that the test does not define. Code of the
test may hand such values on, but nothing may be computed from them where the answer could
take part: ``f(x) - 5`` would hand 5 to an object of the answer's.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

#: Functions of one value that may stand round the answer's: they tell the answer nothing.
_WRAPPERS = frozenset(
    {"list", "tuple", "set", "frozenset", "dict", "sorted", "len", "str", "int", "float", "bool",
     "sum", "max", "min", "abs", "round", "repr"}
)  # fmt: skip
_BUILTINS = frozenset(dir(builtins))


def _with_none(node: ast.AST) -> bool:
    """``x is None``: no object of the answer's takes part in it, nor learns from it."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return False
    right = node.comparators[0]
    none = isinstance(right, ast.Constant) and right.value is None
    return none and isinstance(node.ops[0], ast.Is | ast.IsNot)


class NotCollectable(Exception):
    """A test must be run as it is, away from the answer."""


class Scope:
    """The names that a test has defined so far."""

    def __init__(self, known: Iterable[str] = (), helpers: Iterable[ast.stmt] = ()) -> None:
        self._pure = set(known)
        self._answers: set[str] = set()
        self._touched: set[str] = set()
        functions = [node for node in helpers if isinstance(node, ast.FunctionDef)]
        self._helpers = frozenset(node.name for node in functions if self._hands_on(node))
        self._wrappers: set[str] = set()

    def admit(self, statement: ast.stmt) -> bool:
        """Take a statement that is no assert into account; False: it need not be run.

        Raises ``NotCollectable``.
        """
        if isinstance(statement, ast.Import | ast.ImportFrom):
            names = [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
            if "*" in names:
                raise NotCollectable("import *")
            self._pure.update(names)
            self._wrappers.update(names)
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            self._define(statement.name, statement)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            self._assign(statement)
        elif isinstance(statement, ast.Expr):
            return self._expression(statement.value)
        else:
            raise NotCollectable(type(statement).__name__)
        return True

    def touch(self, statement: ast.stmt) -> None:
        """Note the test's own values that a statement hands to the answer: it may change them."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and self._called(node.func):
                given = [*node.args, *(keyword.value for keyword in node.keywords)]
                self._touched |= {n.id for n in given if isinstance(n, ast.Name)} & self._pure

    def wrappers(self, *, exact: bool) -> frozenset[str]:
        """Functions that may stand round a value: the test's and, if ``exact``, the prelude's.

        An answer may define those of the prelude anew. Then they are its own, and what they
        return has to equal a constant that it does not know; to be small it could arrange.
        """
        return frozenset(self._wrappers) | (self._helpers if exact else frozenset())

    def is_answers(self, node: ast.expr, wrapped: frozenset[str] | None) -> bool:
        """Whether an expression is a value of the answer's and nothing else.

        ``wrapped``: the functions that may stand round it; None: not even a text's method.
        """
        if isinstance(node, ast.Name):
            return node.id in self._answers | self._touched
        if isinstance(node, ast.Subscript):
            return self.is_answers(node.value, wrapped) and self.is_pure(node.slice)
        if isinstance(node, ast.Attribute):
            return self.is_answers(node.value, wrapped)
        if isinstance(node, ast.Call):
            return self._called(node.func) or self._wraps(node, wrapped)
        return False

    def is_pure(self, node: ast.AST) -> bool:
        """Whether nothing of the answer's is in an expression."""
        own = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        bound = {
            n.id
            for n in ast.walk(node)
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        } | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        return own <= self._pure | _BUILTINS | bound

    def _called(self, function: ast.expr) -> bool:
        while isinstance(function, ast.Attribute):
            function = function.value
        if isinstance(function, ast.Call):
            return self._called(function.func)
        if not isinstance(function, ast.Name):
            return False
        return function.id not in self._pure | _BUILTINS

    def _wraps(self, node: ast.Call, wrapped: frozenset[str] | None) -> bool:
        if not node.args or not self.is_answers(node.args[0], wrapped):
            return False
        rest = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
        function = node.func
        if isinstance(function, ast.Name) and function.id in _WRAPPERS - self._pure:
            constants = all(isinstance(value, ast.Constant) for value in rest)
            return constants and (not rest or function.id in ("round", "sorted"))
        if wrapped is None or rest:
            return False
        while isinstance(function, ast.Attribute):
            function = function.value
        if isinstance(function, ast.Constant):  # "".join(...)
            return True
        return isinstance(function, ast.Name) and function.id in wrapped

    def _define(self, name: str, node: ast.AST) -> None:
        self._pure.add(name)
        if not self.is_pure(node):
            raise NotCollectable(f"{name} uses the answer")
        if self._hands_on(node):
            self._wrappers.add(name)

    def _hands_on(self, node: ast.AST) -> bool:
        computes = (ast.Compare, ast.Sub, ast.Div, ast.Mod, ast.BitXor)
        compared = (child for child in ast.walk(node) if not _with_none(child))
        return self.is_pure(node) and not any(isinstance(child, computes) for child in compared)

    def _assign(self, statement: ast.Assign | ast.AnnAssign) -> None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if statement.value is None:
            return
        names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        plain = all(isinstance(target, ast.Name) for target in targets)
        if isinstance(statement.value, ast.Lambda) and plain:
            for name in names:
                self._define(name, statement.value)
        elif self.is_pure(statement.value):
            if plain:
                self._pure |= names
                self._answers -= names
                self._touched -= names
        elif self.is_answers(statement.value, None) or self._is_name(statement.value):
            self._answers |= names
            self._pure -= names
        else:
            raise NotCollectable("computes with the answer's values")

    def _is_name(self, node: ast.expr) -> bool:
        """A name of the answer's: ``candidate = f``."""
        return isinstance(node, ast.Name) and self._called(node)

    def _expression(self, node: ast.expr) -> bool:
        if self.is_pure(node):
            return isinstance(node, ast.Call) and ast.unparse(node.func) != "print"
        if isinstance(node, ast.Call) and self._called(node.func):
            return True
        raise NotCollectable("an expression that computes with the answer's values")
