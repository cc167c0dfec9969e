"""What may stand on one side of an equation to name the value on the other.

``x``, ``a_n``, ``f(x)``, ``(p, q)``, ``AB``, ``\\angle ABC``, ``|AB|``, ``P(A)``, ``\\cos A``,
``\\frac{dy}{dx}``: a question asked for it, and the other side answers.
"""

from __future__ import annotations

from cascade_rl_math.brackets import Tokens, encloses

#: A name, and the variables it is a function of.
Label = tuple[str, tuple[str, ...]]

_LONGEST = 24
_NAMED_FUNCTIONS = frozenset(("sin", "cos", "tan", "cot", "sec", "csc"))
_AROUND_SEGMENTS = frozenset(("frac", "{", "}", "angle", "triangle", "m", "∠"))


def label(tokens: Tokens) -> Label | None:
    """The name that tokens spell and its arguments, or None where they are an expression."""
    if not tokens or len(tokens) > _LONGEST:
        return None
    name = "".join(token.value for token in tokens if token.value not in "{}")
    if is_one_symbol(tokens) or all(token.kind == "text" for token in tokens):
        return name, ()
    if tokens[-1].value == ")" and "(" in name:
        return _application(name, tokens)
    if any(is_name(tokens) for is_name in _NAMES):
        return name, ()
    return None


def is_one_symbol(tokens: Tokens) -> bool:
    """x, x', x_1, x_{n+1}: one name."""
    if not tokens or tokens[0].kind not in ("sym", "const") or tokens[0].value in ("oo", "pi"):
        return False
    rest = tokens[1:]
    if rest and rest[0] == ("op", "_"):
        braced = len(rest) > 2 and rest[1].value == "{" and rest[-1].value == "}"
        return len(rest) == 2 or (braced and encloses(rest[1:]))
    return all(token == ("post", "'") for token in rest)


def _application(name: str, tokens: Tokens) -> Label | None:
    opening = next(index for index, token in enumerate(tokens) if token.value == "(")
    head, inner = tokens[:opening], tokens[opening + 1 : -1]
    if not encloses(tokens[opening:]):
        return None
    if not head:
        members = [token for token in inner if token.kind != "sep"]
        plain = all(token.kind not in ("num", "op") for token in members)
        return (name, ()) if plain and len(members) < len(inner) else None
    if [token.value for token in head[1:] if token.value not in "{}"] == ["^", "-", "1"]:
        head = head[:1]  # an inverse function
    if not (is_one_symbol(head) or (len(head) == 1 and head[0].kind in ("text", "func"))):
        return None
    if all(token.kind in ("sym", "const") or token.value == "," for token in inner):
        return name, tuple(token.value for token in inner if token.kind == "sym")
    if all(token.kind == "num" or token.value in ",-+" for token in inner):
        return name, ()  # T(10): a name for one value
    probability = head[0].value in ("P", "E", "Pr") and len(inner) > 0
    return (name, ()) if probability else None


def _is_measure(tokens: Tokens) -> bool:
    """``|AB|``, ``|z|``, ``\\cos A``, ``\\sin \\angle ABC``."""
    if tokens[0] == ("op", "|") == tokens[-1] and len(tokens) > 2:
        return all(token.kind == "sym" for token in tokens[1:-1])
    named = tokens[0].kind == "func" and tokens[0].value in _NAMED_FUNCTIONS
    return named and len(tokens) > 1 and all(token.kind == "sym" for token in tokens[1:])


def _is_derivative(tokens: Tokens) -> bool:
    """``\\frac{dy}{dx}``, ``\\frac{\\partial z}{\\partial x}``."""
    marks = [token.value for token in tokens if token.value not in ("{", "}")]
    return (
        len(marks) == 5
        and marks[0] == "frac"
        and marks[1] == marks[3]
        and marks[1] in ("d", "partial")
    )


def _is_set(tokens: Tokens) -> bool:
    """``A \\cap B``, ``A \\cup (B \\cap C)``."""
    letters = [token for token in tokens if token.value not in "()∪∩∖"]
    return len(letters) < len(tokens) and all(
        token.kind == "sym" and token.value.isupper() for token in letters
    )


def _is_segments(tokens: Tokens) -> bool:
    """``AB``, ``\\frac{AB}{CD}``, ``\\angle ABC``, ``S_{\\triangle ABC}``."""
    letters = [token for token in tokens if token.value not in _AROUND_SEGMENTS]
    if any(token.value == "triangle" for token in tokens):
        letters = [token for token in letters if token.value != "_"]
    return bool(letters) and all(
        token.kind == "sym" and token.value.isalpha() and token.value.isupper() for token in letters
    )


_NAMES = (_is_measure, _is_derivative, _is_set, _is_segments)
