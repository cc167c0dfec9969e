"""Tokens to an expression tree: precedence climbing over a closed grammar.

The whole input must be read; there is no partial result. A tree is nested tuples, the
operator first; sums and products are flat, so that its depth is the depth of the brackets:

    ("num", "2.50")  ("sym", "x_1")  ("const", "pi" | "e" | "i" | "oo")
    ("add" | "mul", a, b, ...)  ("neg", a)  ("div", a, b)  ("pow", a, b)
    ("percent", a)  ("degree", a)  ("base", "43", "7")  ("mixed", whole, over, under)
    ("fn", name, a, ...)  ("apply", name, a, ...)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cascade_rl_math.lex import Token
from cascade_rl_math.limits import MAX_DEPTH, TooExpensive, Unreadable

Ast = tuple[Any, ...]

_END = Token("end", "")
_CLOSES = {"(": ")", "{": "}", "[": "]", "⌊": "⌋", "⌈": "⌉"}
_WRAPPED = {"⌊": "floor", "⌈": "ceil"}
_POSTFIX = {"!": "factorial", "%": "percent", "°": "degree"}
#: Names read as functions when a bracket follows; any other letter multiplies it.
_APPLIED = frozenset("fgh")
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot"}


def parse(tokens: Sequence[Token]) -> Ast:
    """The tree of one expression. Raises ``Unreadable`` and ``TooExpensive``."""
    if not tokens:
        raise Unreadable("an expression is missing")
    reader = _Reader(tokens)
    tree = reader.sum()
    if reader.next != _END:
        raise Unreadable(f"{reader.next.value!r} where an operator was expected")
    return tree


def symbols(tree: Ast) -> frozenset[str]:
    """The names of the variables in a tree."""
    if tree[0] == "sym":
        return frozenset((tree[1],))
    return frozenset().union(*(symbols(part) for part in tree[1:] if isinstance(part, tuple)))


def rename(tree: Ast, names: dict[str, str]) -> Ast:
    """The tree with its variables renamed."""
    if tree[0] == "sym":
        return ("sym", names.get(tree[1], tree[1]))
    return tuple(rename(part, names) if isinstance(part, tuple) else part for part in tree)


def _flat(operator: str, parts: list[Ast]) -> Ast:
    return parts[0] if len(parts) == 1 else (operator, *parts)


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0
        self._bars = 0

    @property
    def next(self) -> Token:
        return self._peek(0)

    def _peek(self, ahead: int) -> Token:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else _END

    def _take(self) -> Token:
        token = self.next
        self._at += 1
        return token

    def _expect(self, value: str) -> None:
        if self._take().value != value:
            raise Unreadable(f"{value!r} is missing")

    def sum(self) -> Ast:
        """One sum: the loosest level."""
        terms = [self._product()]
        while self.next.kind == "op" and self.next.value in "+-":
            minus = self._take().value == "-"
            term = self._product()
            terms.append(("neg", term) if minus else term)
        return _flat("add", terms)

    def _product(self) -> Ast:
        factors, divisions = [self._signed()], 0
        while True:
            if self.next == ("op", "*"):
                self._take()
                factors.append(self._signed())
            elif self.next.kind == "op" and self.next.value in ("/", ":"):
                self._take()
                self._deeper(divisions := divisions + 1)
                factors = [("div", _flat("mul", factors), self._signed())]
            elif self._starts_factor():
                factors.append(self._power())
            else:
                return _flat("mul", factors)

    def _deeper(self, more: int) -> None:
        if self._depth + more > MAX_DEPTH:
            raise TooExpensive(f"an expression nested more than {MAX_DEPTH} deep")

    def _signed(self) -> Ast:
        signs = 0
        while self.next.kind == "op" and self.next.value in "+-":
            signs += self._take().value == "-"
        tree = self._power()
        return ("neg", tree) if signs % 2 else tree

    def _starts_factor(self) -> bool:
        kind, value = self.next
        if kind == "op":
            return value == "|" and not self._bars
        # A second number side by side is a slip or a table, not a product.
        return kind in ("sym", "const", "func", "cmd", "open") and value != "matrix"

    def _power(self) -> Ast:
        base = self._postfix(self._primary())
        if self.next != ("op", "^"):
            return base
        self._take()
        return self._postfix(("pow", base, self._script()))

    def _postfix(self, tree: Ast) -> Ast:
        seen: set[str] = set()
        while self.next.kind == "post" and self.next.value in _POSTFIX:
            name = _POSTFIX[self._take().value]
            if name in seen:
                raise Unreadable(f"{name} twice in a row")
            seen.add(name)
            tree = ("fn", name, tree) if name == "factorial" else (name, tree)
        return tree

    def _script(self) -> Ast:
        """A script: ``{...}`` or one signed item; a^b^c is a^(b^c), a^b! is (a^b)!."""
        if self.next.value in ("+", "-"):
            minus = self._take().value == "-"
            return ("neg", self._script()) if minus else self._script()
        tree = self._primary()
        if self.next != ("op", "^"):
            return tree
        self._take()
        self._deeper(1)
        self._depth += 1
        tree = ("pow", tree, self._script())
        self._depth -= 1
        return tree

    def _primary(self) -> Ast:
        self._deeper(1)
        token = self._take()
        read = _PRIMARIES.get(token.kind)
        if read is None:
            raise Unreadable(f"{token.value!r} where a value was expected")
        self._depth += 1
        tree = read(self, token)
        self._depth -= 1
        return tree

    def _num(self, token: Token) -> Ast:
        if self.next == ("op", "_"):
            self._take()
            base = self._script()
            if base[0] != "num" or not (token.value + base[1]).isdigit():
                raise Unreadable("a subscript that is no number base")
            return ("base", token.value, base[1])
        return self._mixed(token) or ("num", token.value)

    def _mixed(self, token: Token) -> Ast | None:
        """``2\\frac{1}{3}`` and ``2 1/3``: a whole number and a proper fraction."""
        ahead = [self._peek(index) for index in range(7)]
        if [t.value for t in ahead[:2]] == ["frac", "{"] and ahead[3].value == "}":
            over, under, length = ahead[2], ahead[5], 7
            closed = ahead[4].value == "{" and ahead[6].value == "}"
        else:
            over, under, length = ahead[0], ahead[2], 3
            closed = ahead[1] == ("op", "/")
        digits = [token.value, over.value, under.value]
        if not (closed and over.kind == under.kind == "num" and all(map(str.isdigit, digits))):
            return None
        if int(over.value) >= int(under.value):
            return None
        self._at += length
        return ("mixed", *digits)

    def _sym(self, token: Token) -> Ast:
        name = token.value
        if self.next == ("op", "_"):
            self._take()
            name += "_" + self._raw_script()
        while self.next == ("post", "'"):
            name += self._take().value
        if token.value in _APPLIED and self.next.value == "(":
            return ("apply", name, *self._arguments())
        return ("sym", name)

    def _raw_script(self) -> str:
        """A subscript, which names rather than computes: its tokens as text."""
        first = self._take()
        if first.value != "{":
            return first.value
        parts: list[str] = []
        depth = 1
        while True:
            token = self._take()
            if token == _END:
                raise Unreadable("a subscript that never closes")
            depth += {"{": 1, "}": -1}.get(token.value, 0)
            if depth == 0:
                return "".join(parts)
            parts.append(token.value)

    def _const(self, token: Token) -> Ast:
        if self.next == ("op", "_"):  # i_1 and e_1 are names
            return self._sym(token)
        return ("const", token.value)

    def _open(self, token: Token) -> Ast:
        if token.value not in _CLOSES:
            raise Unreadable(f"{token.value!r} inside an expression")
        tree = self._inside(_CLOSES[token.value])
        return ("fn", _WRAPPED[token.value], tree) if token.value in _WRAPPED else tree

    def _inside(self, closing: str) -> Ast:
        bars, self._bars = self._bars, 0
        tree = self.sum()
        self._bars = bars
        self._expect(closing)
        return tree

    def _op(self, token: Token) -> Ast:
        if token.value != "|":
            raise Unreadable(f"{token.value!r} where a value was expected")
        self._bars += 1
        tree = self.sum()
        self._bars -= 1
        self._expect("|")
        return ("fn", "abs", tree)

    def _arguments(self) -> list[Ast]:
        self._expect("(")
        bars, self._bars = self._bars, 0
        arguments = [self.sum()]
        while self.next == ("sep", ","):
            self._take()
            arguments.append(self.sum())
        self._bars = bars
        self._expect(")")
        return arguments

    def _cmd(self, token: Token) -> Ast:
        first, second = self._argument(), self._argument()
        return ("div", first, second) if token.value == "frac" else ("fn", "binom", first, second)

    def _argument(self) -> Ast:
        """What a command applies to: ``{...}`` or one item."""
        if self.next.value == "{":
            self._take()
            return self._inside("}")
        return self._primary()

    def _func(self, token: Token) -> Ast:
        name = token.value
        if name == "sqrt":
            return self._root()
        base = None
        if name == "log" and self.next == ("op", "_"):
            self._take()
            base = self._script()
        power = None
        if self.next == ("op", "^"):
            self._take()
            power = self._script()
        if power == ("neg", ("num", "1")) and name in _INVERSE:
            name, power = _INVERSE[name], None
        arguments = self._arguments() if self.next.value == "(" else [self._bare_argument()]
        tree: Ast = ("fn", name, *arguments, *([base] if base else []))
        return ("pow", tree, power) if power else tree

    def _bare_argument(self) -> Ast:
        """``\\sin 2x``: a run of factors, ended by an operator or another function."""
        factors = [self._signed()]
        while self._starts_factor() and self.next.kind != "func":
            factors.append(self._power())
        return _flat("mul", factors)

    def _root(self) -> Ast:
        index: Ast | None = None
        if self.next.value == "[":
            self._take()
            index = self._inside("]")
        radicand = self._argument()
        return ("fn", "root", radicand, index) if index else ("fn", "sqrt", radicand)


_PRIMARIES = {
    "num": _Reader._num,
    "sym": _Reader._sym,
    "const": _Reader._const,
    "open": _Reader._open,
    "op": _Reader._op,
    "cmd": _Reader._cmd,
    "func": _Reader._func,
}
