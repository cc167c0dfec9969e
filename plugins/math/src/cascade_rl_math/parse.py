"""Tokens to an expression tree (``tree``): precedence climbing over a closed grammar.

The whole input must be read; there is no partial result.
"""

from __future__ import annotations

from collections.abc import Sequence

from cascade_rl_math.lex import Token
from cascade_rl_math.limits import MAX_DEPTH, TooExpensive, Unreadable
from cascade_rl_math.tree import Ast, flat, put, rename

_END = Token("end", "")
_CLOSES = {"(": ")", "{": "}", "[": "]", "⌊": "⌋", "⌈": "⌉", "\\{": "\\}"}
_WRAPPED = {"⌊": "floor", "⌈": "ceil"}
_POSTFIX = {"!": "factorial", "%": "percent", "°": "degree"}
#: Names read as functions when a bracket follows; any other letter multiplies it.
_APPLIED = frozenset("fgh")
_INVERSE = {
    "sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot", "sec": "arcsec",
    "csc": "arccsc",
}  # fmt: skip
#: A bound that was left out.
_ABSENT: Ast = ("const", "none")
_MINUS_ONE: Ast = ("neg", ("num", "1"))
#: Differentials of an integral: the d of dx, and the letters it may stand before.
_DIFFERENTIAL = ("sym", "d")


def parse(tokens: Sequence[Token]) -> Ast:
    """The tree of one expression. Raises ``Unreadable`` and ``TooExpensive``."""
    if not tokens:
        raise Unreadable("an expression is missing")
    reader = _Reader(tokens)
    tree = reader.whole()
    if reader.next != _END:
        raise Unreadable(f"{reader.next.value!r} where an operator was expected")
    return tree


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0
        self._bars = 0
        self._integrals = self._bound_variables = 0

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

    def _took(self, kind: str, value: str) -> bool:
        if self.next != (kind, value):
            return False
        self._at += 1
        return True

    def _expect(self, value: str) -> None:
        if self._take().value != value:
            raise Unreadable(f"{value!r} is missing")

    def whole(self) -> Ast:
        """What stands alone or between braces: ``3 \\over 4`` takes all of it."""
        tree = self.sum()
        if self.next.kind != "infix":
            return tree
        return _command(self._take().value, tree, self.sum())

    def sum(self) -> Ast:
        """One sum: the loosest level."""
        terms = [self._product()]
        while self.next.kind == "op" and self.next.value in "+-":
            minus = self._take().value == "-"
            term = self._product()
            terms.append(("neg", term) if minus else term)
        return flat("add", terms)

    def _product(self) -> Ast:
        factors, divisions = [self._signed()], 0
        while True:
            if self._took("op", "*"):
                factors.append(self._signed())
            elif self.next.kind == "op" and self.next.value in ("/", ":"):
                self._take()
                self._deeper(divisions := divisions + 1)
                factors = [("div", flat("mul", factors), self._signed())]
            elif self._starts_factor():
                factors.append(self._power())
            else:
                return flat("mul", factors)

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
        if self._integrals and self.next == _DIFFERENTIAL and self._peek(1).kind == "sym":
            return False
        # A second number side by side is a slip or a table, not a product.
        return (
            kind in ("sym", "const", "func", "cmd", "open", "bound") and value not in _ENVIRONMENTS
        )

    def _power(self) -> Ast:
        base = self._postfix(self._primary())
        if not self._took("op", "^"):
            return base
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
        if not self._took("op", "^"):
            return tree
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
        return self._mixed(token) or ("num", token.value)

    def _base(self, token: Token) -> Ast:
        digits, _, radix = token.value.partition("_")
        return ("base", digits, radix)

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
        if name == "C" and (chosen := self._combinations()):
            return chosen
        if self._took("op", "_"):
            name += "_" + self._raw_script()
        while self.next == ("post", "'"):
            name += self._take().value
        if token.value in _APPLIED and self.next.value == "(":
            return ("apply", name, *self._arguments())
        return ("sym", name)

    def _combinations(self) -> Ast | None:
        """``C_{10}^{3}`` and ``C(10, 3)`` choose 3 of 10; any other C is a letter."""
        start = self._at
        if self._took("op", "_"):
            first = self._primary()
            if self._took("op", "^"):
                return ("fn", "binom", first, self._script())
        elif self.next.value == "(":
            closing = next(
                (at for at in range(start, len(self._tokens)) if self._tokens[at].value == ")"), 0
            )
            inside = self._tokens[start:closing]
            if sum(token.value == "," for token in inside) == 1:
                return ("fn", "binom", *self._arguments())
        self._at = start
        return None

    def _raw_script(self) -> str:
        """A subscript, which names rather than computes: its tokens as text."""
        first = self._take()
        if first.value != "{":
            return first.value
        written: list[str] = []
        depth = 1
        while True:
            token = self._take()
            if token == _END:
                raise Unreadable("a subscript that never closes")
            depth += {"{": 1, "}": -1}.get(token.value, 0)
            if depth == 0:
                return "".join(written)
            written.append(token.value)

    def _const(self, token: Token) -> Ast:
        if self.next == ("op", "_"):  # i_1 and e_1 are names
            return self._sym(token)
        return ("const", token.value)

    def _open(self, token: Token) -> Ast:
        if token.value not in _CLOSES or token.value == "\\{":
            raise Unreadable(f"{token.value!r} inside an expression")
        tree = self._inside(_CLOSES[token.value])
        return ("fn", _WRAPPED[token.value], tree) if token.value in _WRAPPED else tree

    def _inside(self, closing: str) -> Ast:
        bars, self._bars = self._bars, 0
        tree = self.whole() if closing == "}" else self.sum()
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
        """``(a, b)``, and ``\\{a, b\\}`` after max, min, gcd."""
        closing = _CLOSES[self._take().value]
        bars, self._bars = self._bars, 0
        arguments = [self.sum()]
        while self._took("sep", ","):
            arguments.append(self.sum())
        self._bars = bars
        self._expect(closing)
        return arguments

    def _cmd(self, token: Token) -> Ast:
        return _command(token.value, self._argument(), self._argument())

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
        base = self._script() if name == "log" and self._took("op", "_") else None
        power = self._script() if self._took("op", "^") else None
        if power == _MINUS_ONE and name in _INVERSE:
            name, power = _INVERSE[name], None
        listed = self.next.value in ("(", "\\{") or (
            self.next.value == "{" and name in ("max", "min", "gcd", "lcm")
        )
        arguments = self._arguments() if listed else [self._bare_argument()]
        tree = _function(name, arguments, base)
        return ("pow", tree, power) if power else tree

    def _bare_argument(self) -> Ast:
        """``\\sin 2x``: a run of factors, ended by an operator or another function."""
        factors = [self._signed()]
        while self._starts_factor() and self.next.kind != "func":
            factors.append(self._power())
        return flat("mul", factors)

    def _root(self) -> Ast:
        index: Ast | None = None
        if self._took("open", "["):
            index = self._inside("]")
        radicand = self._argument()
        return ("fn", "root", radicand, index) if index else ("fn", "sqrt", radicand)

    def _bound(self, token: Token) -> Ast:
        """A sum, product, limit or integral; its variable is renamed to a fixed one."""
        self._bound_variables += 1
        name = f"bound {self._bound_variables}"
        variable, low, high = None, _ABSENT, _ABSENT
        while self.next.value in ("_", "^"):
            if self._take().value == "_":
                variable, low = self._under()
            else:
                high = self._script()
        self._integrals += token.value == "int"
        body = self._product()
        self._integrals -= token.value == "int"
        if token.value == "int" and self._took(*_DIFFERENTIAL):
            variable = self._take().value
        if variable is None:
            raise Unreadable(f"a {token.value} without its variable")
        self._bound_variables -= 1
        if variable == "i":
            body = put(body, ("const", "i"), ("sym", name))
        return ("bound", token.value, low, high, rename(body, {variable: name}))

    def _under(self) -> tuple[str | None, Ast]:
        """``_{k=1}``, ``_{x \\to 0}``: the variable and where it starts."""
        if not self._took("open", "{"):
            return None, self._primary()
        variable = None
        if self.next.kind in ("sym", "const") and self._peek(1).value in ("=", "→"):
            variable = self._take().value
            self._take()
        start = self.sum()
        self._expect("}")
        return variable, start


def _command(name: str, first: Ast, second: Ast) -> Ast:
    return ("div", first, second) if name == "frac" else ("fn", "binom", first, second)


def _function(name: str, arguments: list[Ast], base: Ast | None) -> Ast:
    if name == "cis" and len(arguments) == 1:
        sine: Ast = ("mul", ("const", "i"), ("fn", "sin", *arguments))
        return ("add", ("fn", "cos", *arguments), sine)
    if name == "cbrt" and len(arguments) == 1:
        return ("fn", "root", *arguments, ("num", "3"))
    if name == "log" and base == ("const", "e"):
        return ("fn", "ln", *arguments)
    return ("fn", name, *arguments, *([base] if base else []))


_ENVIRONMENTS = frozenset(("matrix", "determinant", "cases", "lines", "\\{"))
_PRIMARIES = {
    "num": _Reader._num,
    "base": _Reader._base,
    "sym": _Reader._sym,
    "const": _Reader._const,
    "open": _Reader._open,
    "op": _Reader._op,
    "cmd": _Reader._cmd,
    "func": _Reader._func,
    "bound": _Reader._bound,
}
